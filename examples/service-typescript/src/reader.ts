/** Which phase stands, as an instance may rely on it: read again and again, for one lease at a time. */

import { randomBytes } from "node:crypto";
import { uptime } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { DeleteItemCommand, GetItemCommand, PutItemCommand, type DynamoDBClient } from "@aws-sdk/client-dynamodb";

import { RewriteError, StanceExpired } from "./errors.js";
import type { Item } from "./items.js";
import { marshal } from "./json.js";
import { RULES, readRecord, type Phase, type Rewrite, type Rules } from "./record.js";

export interface ReaderOptions {
  table: string;
  revision: string;
  slot?: string;
  keyNames?: [string, string];
  prefix?: string;
  name?: string;
  /** For how long a call waits for an answer where the lease has run out. */
  blockMs?: number;
  /** Bounds the lease that the record gives, and is the lease where there is no record. */
  leaseMs?: number;
  /** Milliseconds on a clock that never goes back and counts time spent suspended. */
  clock?: () => number;
}

/** The machine's uptime: unlike the monotonic clock of Node.js it goes on while the machine sleeps. */
const sinceBoot = (): number => uptime() * 1000;

/** What one call knows of the phase, and holds to from its beginning to its end. */
export class Stance {
  constructor(
    readonly phase: Phase,
    readonly generation: number,
    readonly rewrite: Rewrite | undefined,
    readonly attemptMs: number,
    private readonly clock: () => number,
    public until: number,
  ) {}

  get rules(): Rules {
    if (this.rewrite !== undefined && !this.rewrite.moves) {
      // Twins that stay: the old side decides in every phase. Where they took attributes over, an item is alone in the end.
      const splits = this.rewrite.routes.some(({ data }) => data.keep !== undefined && data.keep.size > 0);
      return RULES[this.phase === "expand" || (this.phase === "done" && splits) ? "expand" : "dual-write"];
    }
    return RULES[this.phase];
  }

  get isValid(): boolean {
    return this.clock() < this.until;
  }

  /** Asked immediately before each request. */
  check(): void {
    if (!this.isValid) throw new StanceExpired();
  }
}

export class PhaseReader {
  private readonly options: Required<ReaderOptions>;
  private readonly nonce = randomBytes(16).toString("hex");
  private current: Stance | undefined;
  private reading: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private acknowledged: { generation: number; at: number } | undefined;
  private lastError = "it was never read";
  private closed = false;

  constructor(
    private readonly client: DynamoDBClient,
    options: ReaderOptions,
  ) {
    this.options = {
      slot: "0",
      keyNames: ["PK", "SK"],
      prefix: "__migrator__",
      name: "",
      blockMs: 30_000,
      leaseMs: 60_000,
      clock: sinceBoot,
      ...options,
    };
  }

  /** What to rely on. Waits for an answer where the lease has run out; throws `phase-unknown` where none comes. */
  async stance(): Promise<Stance> {
    const giveUp = this.options.clock() + this.options.blockMs;
    for (;;) {
      const known = this.valid();
      if (known !== undefined) return known;
      if (this.closed || this.options.clock() >= giveUp) {
        throw new RewriteError("phase-unknown", `the phase of ${this.options.revision} is unknown: ${this.lastError}`);
      }
      await this.refresh();
      if (this.valid() === undefined) await sleep(100 + Math.random() * 200);
    }
  }

  private valid(): Stance | undefined {
    return this.current?.isValid === true ? this.current : undefined;
  }

  /** Read the record now. A read that fails changes nothing. */
  async refresh(): Promise<void> {
    this.reading ??= this.read().finally(() => {
      this.reading = undefined;
    });
    await this.reading;
  }

  private async read(): Promise<void> {
    const { clock, leaseMs, prefix, table } = this.options;
    // The lease counts from before the request left: the answer may be as old as that.
    const sent = clock();
    try {
      const answer = await this.client.send(
        new GetItemCommand({ TableName: table, Key: this.key("phase"), ConsistentRead: true }),
        { abortSignal: AbortSignal.timeout(Math.max(leaseMs / 3, 1000)) },
      );
      this.take(answer.Item === undefined ? undefined : readRecord(answer.Item, prefix), sent);
      await this.acknowledge(sent);
    } catch (error) {
      this.lastError = String(error);
    }
    this.plan();
  }

  private take(read: ReturnType<typeof readRecord> | undefined, sent: number): void {
    const { clock, leaseMs } = this.options;
    const until = sent + Math.min(leaseMs, read?.leaseMs ?? leaseMs);
    const generation = read?.generation ?? 0;
    if (this.current?.isValid === true && this.current.generation === generation) {
      // Calls under way hold to this very object: their phase still stands.
      this.current.until = Math.max(this.current.until, until);
    } else {
      const attempt = read?.attemptMs ?? 10_000;
      this.current = new Stance(read?.phase ?? "expand", generation, read?.rewrite, attempt, clock, until);
    }
  }

  /** Read again after a third of the lease, and sooner after a failure. */
  private plan(): void {
    clearTimeout(this.timer);
    if (this.closed) return;
    const left = (this.current?.until ?? 0) - this.options.clock();
    this.timer = setTimeout(() => void this.refresh(), Math.max(50, left - (this.options.leaseMs * 2) / 3));
    this.timer.unref();
  }

  /** Say which generation this instance acts on: when that changes, and once a lease. It is a courtesy. */
  private async acknowledge(now: number): Promise<void> {
    const { leaseMs, name, prefix, table } = this.options;
    const stance = this.current;
    if (stance?.rewrite === undefined || this.closed) return;
    const known = this.acknowledged;
    if (known?.generation === stance.generation && now < known.at + leaseMs) return;
    const body = {
      name,
      generation: stance.generation,
      phase: stance.phase,
      seen_at: new Date().toISOString(),
    };
    const content = { token: { N: "0" }, version: { S: this.nonce }, body: marshal(body), items: { M: {} } };
    this.acknowledged = { generation: stance.generation, at: now };
    const item = { ...this.key(`instance#${this.nonce}`), [prefix]: { M: content } };
    await this.client.send(new PutItemCommand({ TableName: table, Item: item })).catch(() => undefined);
  }

  private key(sort: string): Item {
    const { keyNames, prefix, revision, slot } = this.options;
    return { [keyNames[0]]: { S: `${prefix}phase#${revision}#${slot}` }, [keyNames[1]]: { S: sort } };
  }

  /** Stop reading, and take the acknowledgement back. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.reading;
    if (this.acknowledged === undefined) return;
    const request = { TableName: this.options.table, Key: this.key(`instance#${this.nonce}`) };
    await this.client.send(new DeleteItemCommand(request)).catch(() => undefined);
  }
}
