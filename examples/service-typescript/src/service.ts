/** A small service: what devices report, over HTTP. FORM says which form of the keys its code speaks. */

import { createServer, type IncomingMessage } from "node:http";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";

import { RewritingClient } from "./client.js";
import { RewriteError } from "./errors.js";
import { PhaseReader } from "./reader.js";
import type { Item } from "./items.js";

const { AWS_ENDPOINT_URL, CONTROL_TABLE = "migrator", REVISION = "", FORM = "old", PORT = "8081" } = process.env;
const LOG = process.env["LOG_TABLE"] ?? (FORM === "old" ? "device-log" : "device-log-by-state");

const client = new DynamoDBClient({ maxAttempts: 1, ...(AWS_ENDPOINT_URL && { endpoint: AWS_ENDPOINT_URL }) });
const reader = new PhaseReader(client, { table: CONTROL_TABLE, revision: REVISION, name: `devices-${FORM}` });
const log = new RewritingClient(client, reader, FORM === "new" ? "new" : "old");

interface Report {
  device: string;
  date: string;
  state: string;
}

function keyOf({ device, date, state }: Report): Item {
  return FORM === "old"
    ? { DeviceID: { S: device }, Date: { S: date } }
    : { DeviceID: { S: device }, "State#Date": { S: `${state}#${date}` } };
}

function itemOf(report: Report): Item {
  return { ...keyOf(report), DeviceID: { S: report.device }, Date: { S: report.date }, State: { S: report.state } };
}

/** Of the old form the key stays when the state changes; of the new one it does not. */
async function change(report: Report, state: string): Promise<void> {
  const next = { ...report, state };
  if (FORM === "old") {
    await log.update(LOG, keyOf(report), { set: { State: { S: state } } }, { exists: true });
    return;
  }
  await log.transact([
    { kind: "delete", table: LOG, key: keyOf(report), condition: { exists: true } },
    { kind: "put", table: LOG, item: itemOf(next), condition: { exists: false } },
  ]);
}

async function body(request: IncomingMessage): Promise<Report & { next?: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Report & { next?: string };
}

async function handle(request: IncomingMessage): Promise<unknown> {
  switch (`${request.method} ${request.url}`) {
    case "POST /reports":
      await log.put(LOG, itemOf(await body(request)), { exists: false });
      return {};
    case "POST /state": {
      const asked = await body(request);
      await change(asked, asked.next!);
      return {};
    }
    case "POST /report":
      return (await log.get(LOG, keyOf(await body(request)))) ?? {};
    default:
      throw new RewriteError("not-expressible", `there is no ${request.method} ${request.url}`);
  }
}

const server = createServer((request, response) => {
  handle(request).then(
    (found) => response.writeHead(200).end(JSON.stringify(found)),
    (error: unknown) => {
      // Of a phase that is unknown the caller may try again: nothing was written.
      const status = error instanceof RewriteError && error.code === "phase-unknown" ? 503 : 409;
      response.writeHead(status).end(JSON.stringify({ error: String(error) }));
    },
  );
});

server.listen(Number(PORT), () => console.log(`listening on ${PORT}, speaking the ${FORM} form`));
process.once("SIGTERM", () => {
  server.close(() => void reader.close().then(() => client.destroy()));
});
