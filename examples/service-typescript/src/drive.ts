/** For tests: a client at the end of a pipe. A line in is a call, a line out its answer, both in JSON. */

import { createInterface } from "node:readline";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

import type { Call } from "./calls.js";
import { RewritingClient, type Listing } from "./client.js";
import type { Item } from "./items.js";
import { PhaseReader } from "./reader.js";
import type { Side } from "./route.js";

interface Asked {
  method: "put" | "update" | "delete" | "transact" | "get" | "scan" | "query" | "refresh" | "close";
  form: Side;
  call?: Call;
  calls?: Call[];
  table?: string;
  key?: Item;
  listing?: Listing;
}

const [endpoint, table, revision] = process.argv.slice(2) as [string, string, string];
const credentials = { accessKeyId: "test", secretAccessKey: "test" };
const client = new DynamoDBClient({ endpoint, region: "eu-west-1", credentials, maxAttempts: 1 });
const reader = new PhaseReader(client, { table, revision, name: "drive", blockMs: 2000 });
const clients = { old: new RewritingClient(client, reader, "old", () => {}), new: new RewritingClient(client, reader, "new", () => {}) };

async function answer(asked: Asked): Promise<unknown> {
  const one = clients[asked.form];
  switch (asked.method) {
    case "put":
    case "update":
    case "delete": {
      const call = asked.call!;
      if (call.kind === "put") return one.put(call.table, call.item, call.condition);
      if (call.kind === "update") return one.update(call.table, call.key, call.change, call.condition);
      return one.delete(call.table, call.key, call.condition);
    }
    case "transact":
      return one.transact(asked.calls!);
    case "get":
      return (await one.get(asked.table!, asked.key!)) ?? null;
    case "scan":
    case "query": {
      const items: Item[] = [];
      const sizes: number[] = [];
      let startKey: Item | undefined;
      do {
        const page = await one[asked.method]({ ...asked.listing!, startKey });
        items.push(...page.items);
        sizes.push(page.items.length);
        startKey = page.next;
      } while (startKey !== undefined);
      return { items, sizes };
    }
    case "refresh":
      await reader.refresh();
      return (await reader.stance()).phase;
    case "close":
      await reader.close();
      return null;
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify({ answer: (await answer(JSON.parse(line) as Asked)) ?? null }));
  } catch (error) {
    const known = error as Error & { code?: string; Item?: Item; CancellationReasons?: { Code: string }[] };
    const reasons = known.CancellationReasons?.map((one) => one.Code);
    console.log(JSON.stringify({ error: known.code ?? known.name, message: known.message, reasons, item: known.Item }));
  }
}
client.destroy();
