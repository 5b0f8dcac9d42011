/** Actions of a transaction under construction: what they write, and the guards under which they do. */

import type { TransactWriteItem } from "@aws-sdk/client-dynamodb";

import type { Call, Change, Condition } from "./calls.js";
import { RewriteError } from "./errors.js";
import { PIN, fingerprint, same, without, type Item, type Value } from "./items.js";

const PINNED: ReadonlySet<string> = new Set([PIN]);

export const unpinned = (item: Item): Item => without(item, PINNED);

export interface Place {
  table: string;
  key: Item;
}
export const idOf = (place: Place): string => `${place.table}\0${fingerprint(place.key)}`;

/** What becomes of one place: how it was read, how it is to be, and what must still be so. */
export class Effect {
  readonly guard = new Set<string>();
  /** Whose change is applied there as it was said. */
  native: Change | undefined;
  /** Whose condition the service judges there. */
  judged: Call | undefined;
  isHome = false;
  /** Whether the whole item is put, over one that may stand there. */
  replaces = false;
  hidden: ReadonlySet<string> = new Set();

  constructor(
    readonly place: Place,
    readonly before: Item | undefined,
    public after: Item | undefined,
  ) {}

  /** Guard every attribute that was read, and the pin or its absence. */
  whole(): void {
    for (const name of Object.keys(this.before ?? {})) this.guard.add(name);
    this.guard.add(PIN);
  }

  get writes(): boolean {
    if (this.after === undefined) return this.before !== undefined || this.isHome;
    if (this.native !== undefined || this.before === undefined || this.replaces) return true;
    return PIN in this.before || this.differing.size > 0;
  }

  private get wanted(): Item {
    const kept = Object.entries(this.before ?? {}).filter(([name]) => this.hidden.has(name) && name !== PIN);
    return { ...without(this.after ?? {}, this.hidden), ...Object.fromEntries(kept) };
  }

  private get differing(): Set<string> {
    const before = unpinned(this.before ?? {});
    const { wanted } = this;
    const names = Object.keys({ ...before, ...wanted }).filter((name) => !(name in this.place.key));
    return new Set(names.filter((name) => !same(before[name], wanted[name])));
  }

  action(): TransactWriteItem {
    const text = new Expression();
    if (this.judged !== undefined) text.condition(this.judged.condition, this.place.key);
    const at = { TableName: this.place.table, ReturnValuesOnConditionCheckFailure: "ALL_OLD" as const };
    if (!this.writes) {
      text.asRead(this.before, this.guard, this.place.key);
      return { ConditionCheck: { ...at, Key: this.place.key, ConditionExpression: text.terms(), ...text.used() } };
    }
    if (this.after === undefined) {
      text.asRead(this.before, this.guard, this.place.key);
      return { Delete: { ...at, Key: this.place.key, ConditionExpression: text.terms(), ...text.used() } };
    }
    if (this.native === undefined && (this.before === undefined || this.replaces)) {
      text.asRead(this.before, this.guard, this.place.key);
      return { Put: { ...at, Item: this.after, ConditionExpression: text.terms(), ...text.used() } };
    }
    const { differing, wanted } = this;
    let change = this.native;
    if (change === undefined) {
      for (const name of differing) this.guard.add(name);
      const set = Object.fromEntries([...differing].filter((name) => name in wanted).map((name) => [name, wanted[name]!]));
      change = { set, remove: [...differing].filter((name) => !(name in wanted)) };
    }
    text.asRead(this.before, this.guard, this.place.key);
    const update = text.update(change);
    return {
      Update: { ...at, Key: this.place.key, UpdateExpression: update, ConditionExpression: text.terms(), ...text.used() },
    };
  }
}

export class Expression {
  private readonly names = new Map<string, string>();
  private readonly values: Record<string, Value> = {};
  private readonly all: string[] = [];

  name(attribute: string): string {
    const known = this.names.get(attribute);
    if (known !== undefined) return known;
    const made = `#n${this.names.size}`;
    this.names.set(attribute, made);
    return made;
  }

  value(value: Value): string {
    const made = `:v${Object.keys(this.values).length}`;
    this.values[made] = value;
    return made;
  }

  condition(condition: Condition | undefined, key: Item): void {
    if (condition?.exists !== undefined) {
      this.all.push(`${condition.exists ? "attribute_exists" : "attribute_not_exists"}(${this.name(Object.keys(key)[0]!)})`);
    }
    for (const [name, value] of Object.entries(condition?.equals ?? {})) this.equals(name, value ?? undefined);
  }

  asRead(item: Item | undefined, names: Iterable<string>, key: Item): void {
    const first = this.name(Object.keys(key)[0]!);
    if (item === undefined) {
      this.all.push(`attribute_not_exists(${first})`);
      return;
    }
    this.all.push(`attribute_exists(${first})`);
    for (const name of names) if (!(name in key)) this.equals(name, item[name]);
  }

  private equals(name: string, value: Value | undefined): void {
    const placeholder = this.name(name);
    this.all.push(
      value === undefined ? `attribute_not_exists(${placeholder})` : `${placeholder} = ${this.value(value)}`,
    );
  }

  update(change: Change): string {
    const sets = Object.entries(change.set ?? {}).map(([name, value]) => `${this.name(name)} = ${this.value(value)}`);
    for (const [name, more] of Object.entries(change.append ?? {})) {
      const before = `if_not_exists(${this.name(name)}, ${this.value({ L: [] })})`;
      sets.push(`${this.name(name)} = list_append(${before}, ${this.value({ L: more })})`);
    }
    const adds = Object.entries(change.add ?? {}).map(([name, by]) => `${this.name(name)} ${this.value({ N: by })}`);
    const removes = [PIN, ...(change.remove ?? []).filter((name) => name !== PIN)].map((name) => this.name(name));
    return [
      sets.length > 0 ? `SET ${sets.join(", ")}` : "",
      `REMOVE ${removes.join(", ")}`,
      adds.length > 0 ? `ADD ${adds.join(", ")}` : "",
    ]
      .filter((clause) => clause !== "")
      .join(" ");
  }

  terms(): string {
    const text = this.all.join(" AND ");
    if (text.length > 4096 || this.all.length > 150) {
      throw new RewriteError("not-expressible", "an item with so many attributes cannot be guarded as it was read");
    }
    return text;
  }

  used(): { ExpressionAttributeNames: Record<string, string>; ExpressionAttributeValues?: Record<string, Value> } {
    const names = Object.fromEntries([...this.names].map(([attribute, placeholder]) => [placeholder, attribute]));
    if (Object.keys(this.values).length === 0) return { ExpressionAttributeNames: names };
    return { ExpressionAttributeNames: names, ExpressionAttributeValues: this.values };
  }
}
