/** The plain values of a control record: texts, whole numbers, booleans, null, lists and maps. */

import type { Value } from "./items.js";

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

export function unmarshal(value: Value): Json {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return Number(value.N);
  if (value.BOOL !== undefined) return value.BOOL;
  if (value.NULL !== undefined) return null;
  if (value.L !== undefined) return value.L.map(unmarshal);
  if (value.M !== undefined) {
    return Object.fromEntries(Object.entries(value.M).map(([name, entry]) => [name, unmarshal(entry)]));
  }
  throw new TypeError(`a control record holds no ${Object.keys(value).join()}`);
}

export function marshal(value: Json): Value {
  if (value === null) return { NULL: true };
  if (typeof value === "string") return { S: value };
  if (typeof value === "number") return { N: String(value) };
  if (typeof value === "boolean") return { BOOL: value };
  if (Array.isArray(value)) return { L: value.map(marshal) };
  return { M: Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, marshal(entry)])) };
}
