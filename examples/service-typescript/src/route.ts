/** Which item belongs to which: the same total functions as migrator's, read from the phase record. */

import { PIN, canonical, fingerprint, keyOf, numberText, same, sameItem, without, type Item, type Value } from "./items.js";
import { Missing, View, fieldsOf, readForm, referencesOf, renderForm, type Fields, type Form } from "./templates.js";

export type Side = "old" | "new";
export const other = (side: Side): Side => (side === "old" ? "new" : "old");

export interface KeyAttribute {
  name: string;
  type: "S" | "N" | "B";
}
export type Condition = { exists: boolean } | { begins_with: string } | { equals: Value } | { one_of: Value[] };

/** What an item of one side is on the other. `reads`: the attributes that say whether, where and what. */
export type Image =
  | { kind: "image"; item: Item; key: Item; reads: ReadonlySet<string> }
  | { kind: "none"; reads: ReadonlySet<string> }
  | { kind: "problem"; message: string; reads: ReadonlySet<string> };

const none = (reads: Iterable<string>): Image => ({ kind: "none", reads: new Set(reads) });
const problem = (message: string, reads: Iterable<string>): Image => ({ kind: "problem", message, reads: new Set(reads) });

export interface RouteData {
  source: string;
  target: string;
  sourceKey: KeyAttribute[];
  targetKey: KeyAttribute[];
  where: Map<string, Condition>;
  key: Form;
  old: Form;
  set: Form;
  keep: ReadonlySet<string> | undefined;
  mark: string | undefined;
  keepsMark: boolean;
}

export class Route {
  readonly sourceNames: string[];
  readonly targetNames: string[];
  readonly isWithinOneTable: boolean;

  constructor(readonly data: RouteData) {
    this.sourceNames = data.sourceKey.map((one) => one.name);
    this.targetNames = data.targetKey.map((one) => one.name);
    this.isWithinOneTable = data.source === data.target;
  }

  names(side: Side): string[] {
    return side === "old" ? this.sourceNames : this.targetNames;
  }

  table(side: Side): string {
    return side === "old" ? this.data.source : this.data.target;
  }

  imageOf(side: Side, item: Item): Image {
    return side === "old" ? this.twinOf(item) : this.sourceOf(item);
  }

  /** Whose twin an item that stands on `side` is, whatever else may be wrong with it: only `key` counts. */
  attributed(side: Side, item: Item): Image {
    return side === "old" ? this.madeOf(item, false) : this.attributedNew(item);
  }

  /** Attributes that a side has in a form of its own, or that say where a twin stands. */
  get specials(): Set<string> {
    const forms = [this.data.key, this.data.old, this.data.set];
    return new Set([
      ...this.sourceNames,
      ...this.targetNames,
      ...forms.flatMap((form) => [...form.keys(), ...referencesOf(form).map((one) => one.attribute)]),
      ...this.data.where.keys(),
      ...(this.data.mark === undefined ? [] : [this.data.mark]),
    ]);
  }

  /** Old keys that a new one tells by itself, whether or not an item there leads here. */
  oldKeysOf(key: Item): Item[] {
    if (this.data.mark !== undefined) return [];
    const view = new View(key);
    return this.oldKeys(this.newFields(view), view);
  }

  sideOf(table: string, item: Item): Side | undefined {
    if (table === this.data.source && this.madeOf(item, false).kind !== "none") return "old";
    if (table !== this.data.target) return undefined;
    if (this.attributedNew(item).kind !== "none") return "new";
    return this.isWithinOneTable && this.isBornNew(item) ? "new" : undefined;
  }

  // --- from old to new -----------------------------------------------------------------------------------------------

  twinOf(item: Item): Image {
    const made = this.madeOf(item, false);
    return made.kind === "image" ? this.asserted(item, made) : made;
  }

  private madeOf(item: Item, isMarkedOld: boolean): Image {
    const view = new View(item);
    if (this.isWithinOneTable && !isMarkedOld && this.marked(view) !== undefined) return none(view.reads);
    try {
      return this.forward(item, view);
    } catch (error) {
      if (error instanceof Missing) return problem(error.message, view.reads);
      throw error;
    }
  }

  private forward(item: Item, view: View): Image {
    if (!this.selects(view)) return none(view.reads);
    const fields = readForm(this.data.old, view);
    if (fields === undefined) return none(view.reads);
    const made = this.newKey(fields, view);
    const oldKey = keyOf(item, this.sourceNames);
    if (this.isWithinOneTable && sameItem(made, oldKey)) return none(view.reads);
    const further = renderForm(this.data.set, fields, view);
    const { keep, mark } = this.data;
    const isKept = (name: string): boolean => name !== PIN && (keep === undefined || keep.has(name));
    let kept = Object.fromEntries(Object.entries(item).filter(([name]) => isKept(name)));
    if (this.isWithinOneTable) kept = without(kept, new Set(this.sourceNames));
    for (const name of [...Object.keys({ ...further, ...made }), ...(mark === undefined ? [] : [mark])]) view.get(name);
    const twin: Item = { ...kept, ...further, ...made };
    if (mark !== undefined) twin[mark] = { M: { table: { S: this.data.source }, key: { M: oldKey } } };
    return { kind: "image", item: twin, key: made, reads: view.reads };
  }

  private selects(view: View): boolean {
    for (const [name, condition] of this.data.where) {
      const value = view.get(name);
      if ("exists" in condition) {
        if ((value !== undefined) !== condition.exists) return false;
      } else if ("begins_with" in condition) {
        if (value?.S === undefined || !value.S.startsWith(condition.begins_with)) return false;
      } else {
        const wanted = "equals" in condition ? [condition.equals] : condition.one_of;
        if (value === undefined || !wanted.some((one) => same(value, one))) return false;
      }
    }
    return true;
  }

  /** Throws Missing for a key that the target would not take. */
  private newKey(fields: Fields, view: View): Item {
    const made = renderForm(this.data.key, fields, view);
    for (const one of this.data.targetKey) {
      const value = made[one.name] ?? view.get(one.name);
      if (value === undefined) throw new Missing(`the item has no ${one.name}, a key attribute of ${this.data.target}`);
      made[one.name] = value;
    }
    const key = keyOf(made, this.targetNames);
    const wrong = keyProblem(this.data.targetKey, key);
    if (wrong !== undefined) throw new Missing(wrong);
    return key;
  }

  /** What every twin must be: attributable to its source, with nothing of it lost, and no old item itself. */
  private asserted(item: Item, made: Image & { kind: "image" }): Image {
    const { keep, mark } = this.data;
    const origin = this.originOf(made.item);
    const own = new Set([...this.targetNames, ...this.data.set.keys(), ...(mark === undefined ? [] : [mark])]);
    const reads = new Set([...made.reads, ...[...origin.reads].filter((name) => !own.has(name))]);
    if (origin.kind !== "image" || !sameItem(origin.key, keyOf(item, this.sourceNames))) {
      return problem(`its new form ${fingerprint(made.key)} would not lead back to it`, reads);
    }
    for (const name of new Set([...Object.keys(item), ...Object.keys(origin.item)])) {
      const counts = name !== PIN && (keep === undefined || keep.has(name) || name in origin.item);
      if (counts && !same(origin.item[name], item[name])) {
        return problem(`the item has an attribute ${name} of its own, which its new form would lose`, reads);
      }
    }
    if (this.isWithinOneTable && !this.data.keepsMark) {
      const again = this.madeOf(mark === undefined ? made.item : without(made.item, new Set([mark])), false);
      for (const name of again.reads) if (!own.has(name)) reads.add(name);
      if (again.kind !== "none") return problem("its new form would be taken for an old item and moved again", reads);
    }
    return { ...made, reads };
  }

  // --- from new to old -----------------------------------------------------------------------------------------------

  sourceOf(item: Item): Image {
    const origin = this.attributedNew(item);
    if (origin.kind !== "image") return origin;
    const wrong = keyProblem(this.data.sourceKey, origin.key);
    if (wrong !== undefined) return problem(wrong, origin.reads);
    const back = this.twinOf(origin.item);
    const reads = new Set([...origin.reads, ...back.reads]);
    if (back.kind === "problem") return { ...back, reads };
    if (back.kind === "none" || !sameItem(back.key, keyOf(item, this.targetNames))) {
      return problem("its key is not the one that its attributes give", reads);
    }
    return { ...origin, reads };
  }

  private attributedNew(item: Item): Image {
    let reads: ReadonlySet<string> = new Set();
    if (this.isWithinOneTable && this.marked(new View(item)) === undefined) {
      const selected = this.madeOf(item, false);
      reads = selected.reads;
      if (selected.kind !== "none") return none(reads);
    }
    const origin = this.originOf(item);
    return { ...origin, reads: new Set([...origin.reads, ...reads]) };
  }

  private originOf(item: Item): Image {
    const view = new View(item);
    const fields = this.newFields(view);
    const reads = new Set<string>();
    const marked = this.marked(view);
    for (const oldKey of marked === undefined ? this.oldKeys(fields, view) : [marked]) {
      const old = this.restored(item, view, fields ?? new Map(), oldKey);
      if (old === undefined) continue;
      if (marked !== undefined) return { kind: "image", item: old, key: oldKey, reads: new Set(view.reads) };
      const there = this.madeOf(old, true);
      for (const name of there.reads) reads.add(name);
      if (there.kind === "image" && sameItem(there.key, keyOf(item, this.targetNames))) {
        return { kind: "image", item: old, key: oldKey, reads: new Set([...view.reads, ...reads]) };
      }
    }
    return none([...view.reads, ...reads]);
  }

  private newFields(view: View): Fields | undefined {
    const fields = readForm(this.data.key, view);
    return fields === undefined ? undefined : new Map([...(readForm(this.data.set, view) ?? []), ...fields]);
  }

  private restored(item: Item, view: View, fields: Fields, oldKey: Item): Item | undefined {
    const lost = new Set([PIN, ...this.data.set.keys(), ...(this.data.mark === undefined ? [] : [this.data.mark])]);
    for (const name of this.targetNames) if (this.isWithinOneTable || !this.stays(name)) lost.add(name);
    const names = new Set([...this.data.old.keys()].filter((name) => !this.sourceNames.includes(name)));
    try {
      return { ...without(item, lost), ...renderForm(this.data.old, fields, view, names), ...oldKey };
    } catch (error) {
      if (error instanceof Missing) return undefined;
      throw error;
    }
  }

  private marked(view: View): Item | undefined {
    const content = this.data.mark === undefined ? undefined : view.get(this.data.mark)?.M;
    const key = content?.["key"]?.M;
    if (content?.["table"]?.S !== this.data.source || key === undefined) return undefined;
    const names = Object.keys(key);
    return names.length === this.sourceNames.length && names.every((name) => this.sourceNames.includes(name))
      ? keyOf(key, this.sourceNames)
      : undefined;
  }

  private oldKeys(fields: Fields | undefined, view: View): Item[] {
    if (fields === undefined) return [];
    const given: Item[] = [];
    for (const byFields of [true, false]) {
      const found = this.oldKey(fields, view, byFields);
      if (found !== undefined && !given.some((one) => sameItem(one, found))) given.push(found);
    }
    return given;
  }

  private oldKey(fields: Fields, view: View, byFields: boolean): Item | undefined {
    let found: Item;
    try {
      found = renderForm(this.data.old, byFields ? fields : new Map(), view, new Set(this.sourceNames));
    } catch (error) {
      if (error instanceof Missing) return undefined;
      throw error;
    }
    for (const one of this.data.sourceKey) {
      if (one.name in found) continue;
      const parsed = ofType(this.isParsed(one.name) ? fields.get(one.name) : undefined, one.type);
      const kept = this.stays(one.name) ? view.get(one.name) : undefined;
      const value = byFields ? (parsed ?? kept) : (kept ?? parsed);
      if (value === undefined) return undefined;
      found[one.name] = value;
    }
    return keyOf(found, this.sourceNames);
  }

  private isParsed(name: string): boolean {
    return fieldsOf(this.data.key).has(name) && !fieldsOf(this.data.old).has(name);
  }

  private stays(name: string): boolean {
    if (this.targetNames.includes(name)) {
      if (fieldsOf(this.data.old).has(name)) return false;
      const template = this.data.key.get(name);
      return template === undefined || template.source === `{${name}}`;
    }
    return !this.data.set.has(name) && (this.data.keep === undefined || this.data.keep.has(name));
  }

  private isBornNew(item: Item): boolean {
    const view = new View(item);
    try {
      const fields = this.selects(view) ? readForm(this.data.old, view) : undefined;
      return fields !== undefined && sameItem(this.newKey(fields, view), keyOf(item, this.targetNames));
    } catch (error) {
      if (error instanceof Missing) return false;
      throw error;
    }
  }
}

function ofType(value: Value | undefined, kind: string): Value | undefined {
  if (value === undefined || kind in value) return value;
  if (kind !== "N" || value.S === undefined) return undefined;
  try {
    numberText(value.S);
  } catch {
    return undefined;
  }
  return { N: value.S };
}

function keyProblem(schema: KeyAttribute[], key: Item): string | undefined {
  for (const [position, one] of schema.entries()) {
    const value = key[one.name]!;
    if (!(one.type in value)) return `${one.name} is not of type ${one.type}: ${canonical(value)}`;
    const size = value.S !== undefined ? Buffer.byteLength(value.S) : (value.B?.length ?? 1);
    if (size === 0) return `${one.name} is empty`;
    if (size > (position === 0 ? 2048 : 1024)) return `${one.name} takes ${size} bytes`;
  }
  return undefined;
}
