/** Items in DynamoDB's wire form: equality as the service sees it, numbers, sizes of keys. */

import type { AttributeValue } from "@aws-sdk/client-dynamodb";

export type Value = AttributeValue;
export type Item = Record<string, Value>;

/** Set before a whole item is carried over to another key; every writer takes it off, so none goes unnoticed. */
export const PIN = "__migrator_moving__";

export function typeOf(value: Value): string {
  return Object.keys(value)[0] ?? "";
}

/** A text that two values share exactly when they are the same to the service: numbers by value, sets by content. */
export function canonical(value: Value): string {
  const kind = typeOf(value);
  const content = (value as unknown as Record<string, unknown>)[kind];
  switch (kind) {
    case "N":
      return `N:${numberText(content as string)}`;
    case "NS":
      return `NS:${JSON.stringify((content as string[]).map(numberText).sort())}`;
    case "SS":
      return `SS:${JSON.stringify([...(content as string[])].sort())}`;
    case "B":
      return `B:${Buffer.from(content as Uint8Array).toString("base64")}`;
    case "BS":
      return `BS:${JSON.stringify((content as Uint8Array[]).map((one) => Buffer.from(one).toString("base64")).sort())}`;
    case "L":
      return `L:${JSON.stringify((content as Value[]).map(canonical))}`;
    case "M":
      return `M:${JSON.stringify(entriesOf(content as Item))}`;
    default:
      return `${kind}:${JSON.stringify(content)}`;
  }
}

function entriesOf(item: Item): [string, string][] {
  return Object.keys(item)
    .sort()
    .map((name) => [name, canonical(item[name]!)]);
}

export function fingerprint(item: Item): string {
  return JSON.stringify(entriesOf(item));
}

export function same(left: Value | undefined, right: Value | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  return canonical(left) === canonical(right);
}

export function sameItem(left: Item, right: Item): boolean {
  return fingerprint(left) === fingerprint(right);
}

export function keyOf(item: Item, names: readonly string[]): Item {
  return Object.fromEntries(names.map((name) => [name, item[name]!]));
}

export function without(item: Item, names: ReadonlySet<string>): Item {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !names.has(name)));
}

/** The number's digits as one integer, and how many of them stand behind the point. */
function digitsOf(text: string): [bigint, number] {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(text.trim());
  if (match === null || (match[2] === "" && !match[3])) throw new RangeError(`${text} is no number`);
  const fraction = match[3] ?? "";
  const digits = BigInt(`${match[2]}${fraction}` || "0");
  return [match[1] === "-" ? -digits : digits, fraction.length - Number(match[4] ?? 0)];
}

function textOf(digits: bigint, scale: number): string {
  if (scale < 0) return textOf(digits * 10n ** BigInt(-scale), 0);
  const sign = digits < 0n ? "-" : "";
  const padded = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, "0");
  const whole = padded.slice(0, padded.length - scale);
  const fraction = padded.slice(padded.length - scale).replace(/0+$/, "");
  const plain = fraction === "" ? whole : `${whole}.${fraction}`;
  return plain === "0" ? "0" : sign + plain;
}

/** The one plain decimal form of a number: `1.50` and `15E-1` give `1.5`, `-0` gives `0`; no digit is lost. */
export function numberText(text: string): string {
  return textOf(...digitsOf(text));
}

export function sum(left: string, right: string): string {
  const [one, scale] = digitsOf(left);
  const [other, otherScale] = digitsOf(right);
  const most = Math.max(scale, otherScale);
  return textOf(one * 10n ** BigInt(most - scale) + other * 10n ** BigInt(most - otherScale), most);
}
