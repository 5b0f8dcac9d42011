/** What an application says: writes of one item each, in its own form. */

import type { Item, Value } from "./items.js";
import { same, sum } from "./items.js";
import { RewriteError } from "./errors.js";

/** All that is given must hold; null stands for absence. */
export interface Condition {
  exists?: boolean;
  equals?: Record<string, Value | null>;
}

/** Of top-level attributes. `add` adds numbers, of an absent attribute from 0; `append` to lists, from an empty one. */
export interface Change {
  set?: Item;
  remove?: string[];
  add?: Record<string, string>;
  append?: Record<string, Value[]>;
}

export type Call =
  | { kind: "put"; table: string; item: Item; condition?: Condition }
  | { kind: "update"; table: string; key: Item; change: Change; condition?: Condition }
  | { kind: "delete"; table: string; key: Item; condition?: Condition }
  | { kind: "check"; table: string; key: Item; condition: Condition };

export function holds(condition: Condition | undefined, item: Item | undefined): boolean {
  if (condition === undefined) return true;
  if (condition.exists !== undefined && condition.exists !== (item !== undefined)) return false;
  return Object.entries(condition.equals ?? {}).every(([name, value]) => same(item?.[name], value ?? undefined));
}

export function touches(change: Change): string[] {
  return [
    ...Object.keys(change.set ?? {}),
    ...(change.remove ?? []),
    ...Object.keys(change.add ?? {}),
    ...Object.keys(change.append ?? {}),
  ];
}

export function applied(change: Change, item: Item): Item {
  const made: Item = { ...item, ...change.set };
  for (const name of change.remove ?? []) delete made[name];
  for (const [name, number] of Object.entries(change.add ?? {})) {
    const before = item[name] ?? { N: "0" };
    if (before.N === undefined) throw new RewriteError("not-expressible", `${name} is no number that could be added to`);
    made[name] = { N: sum(before.N, number) };
  }
  for (const [name, more] of Object.entries(change.append ?? {})) {
    const before = item[name] ?? { L: [] };
    if (before.L === undefined) throw new RewriteError("not-expressible", `${name} is no list that could be appended to`);
    made[name] = { L: [...before.L, ...more] };
  }
  return made;
}
