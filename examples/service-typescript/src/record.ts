/** The phase record, format 1: docs/phase-record.md of migrator is the contract. */

import { unmarshal, type Json } from "./json.js";
import type { Item, Value } from "./items.js";
import { Route, other, type Condition, type KeyAttribute, type Side } from "./route.js";
import { parseForm } from "./templates.js";

export type Phase = "expand" | "dual-write" | "cutover" | "contract" | "done";

export interface Rules {
  authority: Side;
  writesTwin: boolean;
  createsTwin: boolean;
}

export const RULES: Record<Phase, Rules> = {
  expand: { authority: "old", writesTwin: false, createsTwin: false },
  "dual-write": { authority: "old", writesTwin: true, createsTwin: true },
  cutover: { authority: "new", writesTwin: true, createsTwin: true },
  contract: { authority: "new", writesTwin: true, createsTwin: false },
  done: { authority: "new", writesTwin: false, createsTwin: false },
};

export class Rewrite {
  constructor(
    readonly routes: Route[],
    readonly moves: boolean,
  ) {}

  has(table: string): boolean {
    return this.routes.some((route) => route.data.source === table || route.data.target === table);
  }

  keyNames(table: string): string[] {
    for (const route of this.routes) {
      if (route.data.source === table) return route.sourceNames;
      if (route.data.target === table) return route.targetNames;
    }
    throw new RangeError(`${table} is no table of the rewrite`);
  }

  /** The routes whose items of a side stand in the table. */
  of(side: Side, table: string): Route[] {
    return this.routes.filter((route) => route.table(side) === table);
  }

  sideOf(table: string, item: Item): Side | undefined {
    const found = this.routes.map((route) => route.sideOf(table, item));
    return found.includes("new") ? "new" : found.includes("old") ? "old" : undefined;
  }

  /** Whether items of the other form may stand in a table. */
  isMixed(form: Side, table: string): boolean {
    return this.of(other(form), table).length > 0;
  }
}

export interface PhaseRecord {
  phase: Phase;
  generation: number;
  leaseMs: number;
  attemptMs: number;
  rewrite: Rewrite;
}

/** What the record says. Throws for one that a later version wrote, or that rests on a function of Python's. */
export function readRecord(item: Item, prefix: string): PhaseRecord {
  const body = unmarshal(item[prefix]?.M?.["body"] ?? { M: {} }) as Record<string, Json>;
  const format = body["format"];
  if (format !== 1) throw new Error(`the phase record is of format ${String(format)}: this program knows 1`);
  const phase = body["phase"] as Phase;
  if (!(phase in RULES)) throw new Error(`${String(phase)} is no phase`);
  return {
    phase,
    generation: body["generation"] as number,
    leaseMs: (body["lease_ms"] as number | undefined) ?? 60_000,
    attemptMs: (body["attempt_ms"] as number | undefined) ?? 10_000,
    rewrite: readRewrite(body["rewrite"] as Record<string, Json>),
  };
}

function readRewrite(data: Record<string, Json>): Rewrite {
  if (data["format"] !== 1) throw new Error(`the rewrite is of format ${String(data["format"])}: this program knows 1`);
  const routes = (data["routes"] as Record<string, Json>[]).map(readRoute);
  return new Rewrite(routes, data["moves"] as boolean);
}

function readRoute(data: Record<string, Json>): Route {
  const where = data["where"] as Record<string, Json>;
  const key = data["key"] as Record<string, Json>;
  if ("function" in where || "function" in key) {
    throw new Error("the rewrite rests on a function, which this program has not: it must not take part");
  }
  const keep = data["keep"] as string[] | null;
  return new Route({
    source: data["source"] as string,
    target: data["target"] as string,
    sourceKey: data["source_key"] as unknown as KeyAttribute[],
    targetKey: data["target_key"] as unknown as KeyAttribute[],
    where: new Map(
      Object.entries(where["attributes"] as Record<string, Json>).map(([name, one]) => [name, readCondition(one)]),
    ),
    key: parseForm(key["templates"] as Record<string, string>),
    old: parseForm(data["old"] as Record<string, string>),
    set: parseForm(data["set"] as Record<string, string>),
    keep: keep === null ? undefined : new Set(keep),
    mark: (data["mark"] as string | null) ?? undefined,
    keepsMark: data["keeps_mark"] as boolean,
  });
}

function readCondition(data: Json): Condition {
  const condition = data as Record<string, Json>;
  if ("equals" in condition) return { equals: fromDynamoJson(condition["equals"]) };
  if ("one_of" in condition) return { one_of: (condition["one_of"] as Json[]).map(fromDynamoJson) };
  return condition as Condition;
}

/** A value in DynamoDB JSON, whose binaries are base64, as the SDK has it. */
function fromDynamoJson(data: Json | undefined): Value {
  const [kind, content] = Object.entries(data as Record<string, Json>)[0]!;
  switch (kind) {
    case "B":
      return { B: Buffer.from(content as string, "base64") };
    case "BS":
      return { BS: (content as string[]).map((one) => Buffer.from(one, "base64")) };
    case "L":
      return { L: (content as Json[]).map(fromDynamoJson) };
    case "M":
      return { M: Object.fromEntries(Object.entries(content as object).map(([n, v]) => [n, fromDynamoJson(v)])) };
    default:
      return { [kind]: content } as unknown as Value;
  }
}
