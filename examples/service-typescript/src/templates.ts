/** Key templates, `TENANT#{tenantId}`: rendered from fields and attributes, and read back. */

import { numberText, same, typeOf, type Item, type Value } from "./items.js";

export interface Reference {
  source: string;
  attribute: string;
  path: string[];
}
export interface Template {
  source: string;
  parts: (string | Reference)[];
}
export type Form = Map<string, Template>;
export type Fields = Map<string, Value>;

/** A template needs an attribute that the item lacks, or one of another type. */
export class Missing extends Error {}

/** An item that remembers which of its attributes were read, present or not: they are what a decision rests on. */
export class View {
  readonly reads = new Set<string>();

  constructor(private readonly item: Item) {}

  get(name: string): Value | undefined {
    this.reads.add(name);
    return this.item[name];
  }
}

export function parseTemplate(source: string): Template {
  const parts: (string | Reference)[] = [];
  let literal = "";
  let position = 0;
  while (position < source.length) {
    const pair = source.slice(position, position + 2);
    const char = source[position]!;
    if (pair === "{{" || pair === "}}") {
      literal += char;
      position += 2;
    } else if (char === "{") {
      const end = source.indexOf("}", position);
      const field = end < 0 ? "" : source.slice(position + 1, end);
      const match = /^([^\[\]{}]+)((?:\[[^\[\]{}]+\])*)$/.exec(field);
      if (match === null) throw new SyntaxError(`template ${source}: no attribute at ${position}`);
      if (literal !== "") parts.push(literal);
      literal = "";
      const path = [...(match[2] ?? "").matchAll(/\[([^\[\]]+)\]/g)].map((step) => step[1]!);
      parts.push({ source: field, attribute: match[1]!, path });
      position = end + 1;
    } else if (char === "}") {
      throw new SyntaxError(`template ${source}: '}' without '{'`);
    } else {
      literal += char;
      position += 1;
    }
  }
  if (literal !== "") parts.push(literal);
  return { source, parts };
}

export function parseForm(sources: Record<string, string>): Form {
  return new Map(Object.entries(sources).map(([name, source]) => [name, parseTemplate(source)]));
}

export function referencesOf(form: Form): Reference[] {
  return [...form.values()].flatMap((one) => one.parts.filter((part): part is Reference => typeof part !== "string"));
}

export function fieldsOf(form: Form): Set<string> {
  return new Set(referencesOf(form).map((one) => one.source));
}

/** The fields of an item whose attributes are of this form; undefined where they are not. */
export function readForm(form: Form, view: View): Fields | undefined {
  const found: Fields = new Map();
  for (const [name, template] of form) {
    const value = view.get(name);
    const fields = value === undefined ? undefined : readTemplate(template, value);
    if (fields === undefined) return undefined;
    for (const [field, read] of fields) {
      const known = found.get(field);
      if (known !== undefined && !same(known, read)) return undefined;
      found.set(field, read);
    }
  }
  return found;
}

/** A field ends where the text that follows it first occurs; the last one goes to the end. */
function readTemplate(template: Template, value: Value): Fields | undefined {
  const only = template.parts[0];
  if (template.parts.length === 1 && only !== undefined && typeof only !== "string") {
    return new Map([[only.source, value]]);
  }
  if (value.S === undefined) return undefined;
  const found = new Map<string, string>();
  let rest = value.S;
  for (const [number, part] of template.parts.entries()) {
    if (typeof part === "string") {
      if (!rest.startsWith(part)) return undefined;
      rest = rest.slice(part.length);
      continue;
    }
    const known = found.get(part.source);
    const following = template.parts[number + 1];
    const end = known?.length ?? (typeof following === "string" ? rest.indexOf(following) : rest.length);
    const text = rest.slice(0, Math.max(end, 0));
    if (end < 0 || (known !== undefined && known !== text)) return undefined;
    found.set(part.source, text);
    rest = rest.slice(end);
  }
  if (rest !== "") return undefined;
  return new Map([...found].map(([name, text]) => [name, { S: text }]));
}

/** The attributes, of fields first and of the item's attributes else. Throws Missing. */
export function renderForm(form: Form, fields: Fields, view: View, names?: ReadonlySet<string>): Item {
  const made: Item = {};
  for (const [name, template] of form) {
    if (names === undefined || names.has(name)) made[name] = render(name, template, fields, view);
  }
  return made;
}

function render(name: string, template: Template, fields: Fields, view: View): Value {
  const values = template.parts.map((part) =>
    typeof part === "string" ? part : (fields.get(part.source) ?? find(name, part, view)),
  );
  const only = values[0];
  if (values.length === 1 && only !== undefined && typeof only !== "string") return only;
  return { S: values.map((one) => (typeof one === "string" ? one : textOf(name, one))).join("") };
}

function find(name: string, reference: Reference, view: View): Value {
  let value = view.get(reference.attribute);
  for (const step of reference.path) value = value?.M?.[step];
  if (value === undefined) throw new Missing(`${name}: the template reads ${reference.source}, which the item lacks`);
  return value;
}

function textOf(name: string, value: Value): string {
  if (value.S !== undefined) return value.S;
  if (value.N !== undefined) return numberText(value.N);
  throw new Missing(`${name}: a part is of type ${typeOf(value)}, not text or a number`);
}
