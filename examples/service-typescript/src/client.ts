/** What a service uses while its keys are rewritten: one form through all phases. */

import { randomBytes, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  ConditionalCheckFailedException,
  QueryCommand,
  ScanCommand,
  TransactGetItemsCommand,
  TransactWriteItemsCommand,
  TransactionCanceledException,
  UpdateItemCommand,
  type CancellationReason,
  type DynamoDBClient,
  type QueryCommandInput,
  type ScanCommandInput,
} from "@aws-sdk/client-dynamodb";

import { Expression, idOf, type Effect, type Place } from "./actions.js";
import { holds, type Call, type Change, type Condition } from "./calls.js";
import { RewriteError, StanceExpired } from "./errors.js";
import { PIN, without, type Item } from "./items.js";
import { ConditionLost, Need, PinFirst, Planner, type Seen } from "./planner.js";
import type { PhaseReader, Stance } from "./reader.js";
import { other, type Side } from "./route.js";

const TRIES = 20;
const AT = "__migrator_side__";
const PASSING = new Set(["None", "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]);

export interface Page {
  items: Item[];
  /** Where to go on, as `startKey`; undefined at the end. */
  next: Item | undefined;
}
type Listed = Omit<QueryCommandInput, "TableName" | "Limit" | "ExclusiveStartKey" | "FilterExpression" | "ProjectionExpression">;
export interface Listing {
  table: string;
  limit?: number;
  startKey?: Item | undefined;
  /** What a query says on each side: condition, values, index. Left out of a scan. */
  old?: Listed;
  new?: Listed;
}

export class RewritingClient {
  constructor(
    private readonly client: DynamoDBClient,
    private readonly reader: PhaseReader,
    private readonly form: Side,
    private readonly warn: (message: string) => void = (message) => console.warn(message),
  ) {}

  // --- writes --------------------------------------------------------------------------------------------------------

  put(table: string, item: Item, condition?: Condition): Promise<void> {
    return this.single({ kind: "put", table, item, ...(condition && { condition }) });
  }

  update(table: string, key: Item, change: Change, condition?: Condition): Promise<void> {
    return this.single({ kind: "update", table, key, change, ...(condition && { condition }) });
  }

  delete(table: string, key: Item, condition?: Condition): Promise<void> {
    return this.single({ kind: "delete", table, key, ...(condition && { condition }) });
  }

  /** All or nothing; fifty calls always fit. A condition that does not hold is a TransactionCanceledException. */
  async transact(calls: Call[]): Promise<void> {
    try {
      await this.write(calls);
    } catch (error) {
      if (!(error instanceof ConditionLost)) throw error;
      const reasons: CancellationReason[] = calls.map(() => ({ Code: "None" }));
      reasons[error.position] = { Code: "ConditionalCheckFailed" };
      const message = `Transaction cancelled [${reasons.map((one) => one.Code).join(", ")}]`;
      throw new TransactionCanceledException({ message, $metadata: {}, CancellationReasons: reasons });
    }
  }

  private async single(call: Call): Promise<void> {
    try {
      await this.write([call]);
    } catch (error) {
      if (!(error instanceof ConditionLost)) throw error;
      const shown = error.item === undefined ? {} : { Item: error.item };
      throw new ConditionalCheckFailedException({ message: "The conditional request failed", $metadata: {}, ...shown });
    }
  }

  private write(calls: Call[]): Promise<void> {
    return this.holding((stance) => new Writing(this, stance, this.form, calls, this.warn).run());
  }

  /** Act under what is known of the phase; anew where its lease ran out before anything was sent. */
  private async holding<T>(act: (stance: Stance) => Promise<T>): Promise<T> {
    for (let number = 0; number < TRIES; number += 1) {
      try {
        const stance = await this.reader.stance();
        await this.refuseHiddenRetries(stance);
        return await act(stance);
      } catch (error) {
        if (!(error instanceof StanceExpired)) throw error;
      }
    }
    throw new RewriteError("phase-unknown", "the lease ran out again and again before a request could be sent");
  }

  private async refuseHiddenRetries(stance: Stance): Promise<void> {
    if (stance.rewrite === undefined) {
      throw new RewriteError("not-expressible", "there is no phase record yet: nothing says how the two forms correspond");
    }
    if ((await this.client.config.maxAttempts()) !== 1) {
      throw new RewriteError("not-expressible", "open the client with maxAttempts: 1, its retries would outlive the lease");
    }
  }

  /** One request under the stance: never sent after its lease, given up after the time of one attempt. */
  async send<T>(stance: Stance, act: (abortSignal: AbortSignal) => Promise<T>): Promise<T> {
    stance.check();
    return act(AbortSignal.timeout(stance.attemptMs));
  }

  /** Items as they were at one moment. */
  async look(stance: Stance, places: Place[]): Promise<Seen> {
    const TransactItems = places.map(({ table, key }) => ({ Get: { TableName: table, Key: key } }));
    for (let attempt = 0; ; attempt += 1) {
      try {
        const command = new TransactGetItemsCommand({ TransactItems });
        const answer = await this.send(stance, (abortSignal) => this.client.send(command, { abortSignal }));
        return new Map(places.map((place, number) => [idOf(place), answer.Responses?.[number]?.Item]));
      } catch (error) {
        if (error instanceof StanceExpired || attempt >= TRIES || !passes(error)) throw error;
        await pause(attempt);
      }
    }
  }

  get raw(): DynamoDBClient {
    return this.client;
  }

  // --- reads ---------------------------------------------------------------------------------------------------------

  get(table: string, key: Item): Promise<Item | undefined> {
    return this.holding(async (stance) => {
      const planner = this.planner(stance);
      const places = new Map<string, Place>();
      let seen: Seen = new Map();
      for (;;) {
        try {
          const found = planner.find(seen, table, key);
          return found === undefined ? undefined : without(found, planner.hidden);
        } catch (error) {
          if (!(error instanceof Need)) throw error;
          for (const place of error.places) places.set(idOf(place), place);
          seen = await this.look(stance, [...places.values()]);
        }
      }
    });
  }

  query(listing: Listing): Promise<Page> {
    return this.holding((stance) => this.list(stance, "query", listing));
  }

  scan(listing: Listing): Promise<Page> {
    return this.holding((stance) => this.list(stance, "scan", listing));
  }

  /** Of the side that decides, without the other one, and then of what is on neither; filled up to the limit. */
  private async list(stance: Stance, method: "query" | "scan", listing: Listing): Promise<Page> {
    const rewrite = stance.rewrite!;
    const planner = this.planner(stance);
    let [side, number, start] = this.begin(stance, listing.startKey);
    const tables = new Set(rewrite.of(this.form, listing.table).map((route) => route.table(side)));
    const isOne = side === this.form || (method === "scan" && tables.size === 1 && tables.has(listing.table));
    const parts = isOne
      ? [{ table: listing.table, neutral: true, rest: false }]
      : [
          ...[...tables].map((table) => ({ table, neutral: false, rest: false })),
          { table: listing.table, neutral: true, rest: true },
        ];
    const items: Item[] = [];
    for (;;) {
      const part = parts[number];
      if (part === undefined) throw new RewriteError("page-moved", "begin the listing again");
      const said = listing[part.rest ? this.form : side];
      if (said === undefined && method === "query") {
        throw new RewriteError("not-expressible", `a query that is not said for the ${side} side`);
      }
      const Limit = listing.limit === undefined ? undefined : listing.limit - items.length;
      const request = { ...said, TableName: part.table, Limit, ExclusiveStartKey: start };
      const answer = await this.send(stance, (abortSignal) =>
        method === "query"
          ? this.client.send(new QueryCommand(request), { abortSignal })
          : this.client.send(new ScanCommand(request as ScanCommandInput), { abortSignal }),
      );
      for (const raw of answer.Items ?? []) {
        const found = rewrite.sideOf(part.table, raw);
        let shown: Item | undefined;
        if (found === undefined) shown = part.neutral ? raw : undefined;
        else if (found === side && !part.rest) shown = side === this.form ? raw : this.formOf(stance, part.table, listing.table, side, raw);
        if (shown !== undefined) items.push(without(shown, planner.hidden));
      }
      start = answer.LastEvaluatedKey;
      if (start === undefined) number += 1;
      const isFull = listing.limit === undefined ? items.length > 0 : items.length >= listing.limit;
      if (start === undefined && number >= parts.length) return { items, next: undefined };
      if (isFull) {
        const marked = side === this.form ? start! : { ...start, [AT]: { S: `${side}:${number}` } };
        return { items, next: marked };
      }
    }
  }

  /** Which side is read, from which part on, after which key. A listing ends on the side on which it was begun. */
  private begin(stance: Stance, startKey: Item | undefined): [Side, number, Item | undefined] {
    const { authority } = stance.rules;
    if (startKey === undefined) return [authority, 0, undefined];
    const [side, number] = (startKey[AT]?.S ?? `${this.form}:0`).split(":") as [Side, string];
    if (side !== authority && stance.phase !== "dual-write" && stance.phase !== "cutover") {
      throw new RewriteError("page-moved", "the listing was begun on a side that is no longer kept: begin it again");
    }
    const key = without(startKey, new Set([AT]));
    return [side, Number(number), Object.keys(key).length === 0 ? undefined : key];
  }

  private formOf(stance: Stance, table: string, own: string, side: Side, raw: Item): Item | undefined {
    for (const route of stance.rewrite!.of(side, table)) {
      const image = route.table(other(side)) === own ? route.imageOf(side, raw) : undefined;
      if (image?.kind === "image") return image.item;
    }
    return undefined;
  }

  private planner(stance: Stance, nonce = ""): Planner {
    return new Planner(stance.rewrite!, this.form, stance.rules, stance.phase, nonce, this.warn);
  }
}

/** One call under one stance: planned, sent as one transaction, judged, and planned again. */
class Writing {
  private readonly nonce = randomBytes(8).toString("hex");
  private readonly planner: Planner;
  private readonly pinned = new Map<string, Place>();

  constructor(
    private readonly owner: RewritingClient,
    private readonly stance: Stance,
    form: Side,
    private readonly calls: Call[],
    warn: (message: string) => void,
  ) {
    this.planner = new Planner(stance.rewrite!, form, stance.rules, stance.phase, this.nonce, warn);
  }

  async run(): Promise<void> {
    try {
      for (let attempt = 0; attempt < TRIES; attempt += 1) {
        if (await this.attempt()) return;
        await pause(attempt / 2);
      }
      throw new RewriteError("conflict", "the item changed each time before it could be written");
    } finally {
      for (const place of this.pinned.values()) await this.unpin(place).catch(() => undefined);
    }
  }

  /** False where it is to be decided anew. */
  private async attempt(): Promise<boolean> {
    const effects = await this.plan();
    if (effects === undefined) return false;
    if (!effects.some((effect) => effect.writes) && this.calls.every((call) => call.kind !== "check")) return true;
    if (effects.length > 100) {
      throw new RewriteError("not-expressible", `${effects.length} actions, 100 are possible: 50 calls always fit`);
    }
    if (!(await this.transact(effects))) return false;
    for (const effect of effects) if (effect.writes) this.pinned.delete(idOf(effect.place));
    return true;
  }

  private async plan(): Promise<Effect[] | undefined> {
    const places = new Map<string, Place>();
    let seen: Seen = new Map();
    for (;;) {
      try {
        return this.planner.plan(this.calls, seen);
      } catch (error) {
        if (error instanceof PinFirst) {
          await this.pin(error.place);
          return undefined;
        }
        if (!(error instanceof Need)) throw error;
        for (const place of error.places) places.set(idOf(place), place);
        seen = await this.owner.look(this.stance, [...places.values()]);
      }
    }
  }

  private async transact(effects: Effect[]): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: effects.map((effect) => effect.action()),
      // The same for every attempt: the service applies it once, however often it is sent.
      ClientRequestToken: randomUUID(),
    });
    let doubt: unknown;
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.owner.send(this.stance, (abortSignal) => this.owner.raw.send(command, { abortSignal }));
        return true;
      } catch (error) {
        if (error instanceof StanceExpired) throw doubt ?? error;
        if (error instanceof TransactionCanceledException) {
          this.judge(error, effects);
          return false;
        }
        if (!passes(error)) throw error;
        if (isLost(error)) doubt = error;
        if (attempt >= TRIES) throw doubt ?? error;
        await pause(attempt);
      }
    }
  }

  /** Throws where it was the application's own condition, or something that does not pass. */
  private judge(error: TransactionCanceledException, effects: Effect[]): void {
    for (const [number, reason] of (error.CancellationReasons ?? []).entries()) {
      const call = effects[number]?.judged;
      if (reason.Code === "ConditionalCheckFailed") {
        if (call !== undefined && !holds(call.condition, reason.Item)) {
          throw new ConditionLost(this.calls.indexOf(call), reason.Item && without(reason.Item, this.planner.hidden));
        }
      } else if (!PASSING.has(reason.Code ?? "None")) throw error;
    }
  }

  private async pin(place: Place): Promise<void> {
    this.pinned.set(idOf(place), place);
    const text = new Expression();
    text.asRead({}, [], place.key);
    const UpdateExpression = `SET ${text.name(PIN)} = ${text.value({ S: this.nonce })}`;
    await this.change(place, UpdateExpression, text).catch((error: unknown) => {
      // Whatever became of it, the next look shows.
      if (!(error instanceof ConditionalCheckFailedException) && !passes(error)) throw error;
    });
  }

  private async unpin(place: Place): Promise<void> {
    const text = new Expression();
    text.asRead({ [PIN]: { S: this.nonce } }, [PIN], place.key);
    await this.change(place, `REMOVE ${text.name(PIN)}`, text);
  }

  private async change(place: Place, UpdateExpression: string, text: Expression): Promise<void> {
    const ConditionExpression = text.terms();
    const request = { TableName: place.table, Key: place.key, UpdateExpression, ConditionExpression, ...text.used() };
    await this.owner.send(this.stance, (abortSignal) => this.owner.raw.send(new UpdateItemCommand(request), { abortSignal }));
  }
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : "";
}

/** Whether nobody knows if the request happened. */
function isLost(error: unknown): boolean {
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return status === undefined || status >= 500 || nameOf(error) === "TransactionInProgressException";
}

function passes(error: unknown): boolean {
  if (error instanceof RewriteError || error instanceof ConditionLost) return false;
  if (error instanceof TransactionCanceledException) {
    return (error.CancellationReasons ?? []).every((reason) => PASSING.has(reason.Code ?? "None"));
  }
  return isLost(error) || /Throttl|ProvisionedThroughput|RequestLimit|TransactionConflict/.test(nameOf(error));
}

async function pause(attempt: number): Promise<void> {
  await sleep(Math.random() * Math.min(1000, 20 * 2 ** attempt));
}
