import { createPublicKey, hash, type KeyObject, verify as verifySignature } from "node:crypto";
import { readFileSync } from "node:fs";
import process from "node:process";
import {
  type AuditAnchor,
  type AuditRecord,
  AuditVerifier,
  anchorsIn,
  firstFault,
  inMs,
} from "@mainspring/contract/audit-log";
import { Command } from "commander";
import {
  type ConnectionOptions,
  clientCommand,
  connect,
  type ListOptions,
  listCommand,
} from "../arguments/connection-options.ts";
import { given } from "../arguments/given.ts";
import { instant } from "../arguments/option-values.ts";
import { EXIT } from "../exit-codes.ts";
import { Failure } from "../failure.ts";
import { auditText } from "../text/audit-text.ts";
import { counted } from "../text/counted.ts";

interface FilterOptions extends ListOptions {
  actor?: string;
  action?: string;
  target?: string;
  since?: string;
}

interface ExportOptions extends ConnectionOptions {
  since?: string;
  follow?: boolean;
}

interface VerifyOptions extends ConnectionOptions {
  anchors?: string;
  key?: string;
  since?: string;
}

const HOW_TO_VERIFY = `
Whoever can write the database can also write a whole new log. Anchors show that, if they are kept where nobody can change them: the
server logs each one. --anchors takes the lines of that log, or those of "mainspring audit export".`;

export function auditCommand(): Command {
  return new Command("audit")
    .description("the audit log: who changed what")
    .addCommand(listing())
    .addCommand(exporting())
    .addCommand(verifying());
}

function listing(): Command {
  return listCommand("list records, newest first")
    .option("--actor <keyId>", "only those of this API key")
    .option("--action <operation>", "only those of this operation, as putPool")
    .option("--target <id>", "only those about this object")
    .option("--since <time>", "only those of this time or later", instant)
    .action(async ({ actor, action, target, since, ...options }: FilterOptions) => {
      const { client, output } = connect(options);
      await output.list(client.audit.list(given({ actor, action, target, since })), options.limit, auditText);
    });
}

function exporting(): Command {
  return clientCommand("export")
    .description("print all anchors and records as JSON, one a line, oldest first")
    .option("--since <time>", "only records of this time or later", instant)
    .option("--follow", "go on with new records until Ctrl-C")
    .action(async ({ since, follow, ...options }: ExportOptions) => {
      const { client } = connect(options);
      for await (const anchor of client.audit.anchors()) print({ auditAnchor: anchor });
      const records = follow === true ? client.audit.follow(since) : client.audit.records(since);
      for await (const record of records) print(record);
    });
}

function print(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document)}\n`);
}

function verifying(): Command {
  return clientCommand("verify")
    .description(
      "verify the audit log: finds edits, gaps, a wrong order, and missing ends; exits with 1 at the first fault",
    )
    .option("--anchors <file>", "kept anchors to compare with: lines of a server's log, or of an export")
    .option("--key <file>", "the key in PEM that the anchors must be signed with, private or public")
    .option("--since <time>", "only records of this time or later", instant)
    .addHelpText("after", HOW_TO_VERIFY)
    .action(async ({ anchors, key, since, ...options }: VerifyOptions) => {
      const { client, output } = connect(options);
      const isSigned = key === undefined ? null : signedBy(publicKeyIn(key));
      const verifier = new AuditVerifier(
        { digest: (text) => hash("sha256", text, "hex"), isSigned },
        since !== undefined,
      );
      const kept = anchors === undefined ? [] : keptIn(anchors);
      const records = inMsEach(client.audit.records(since)) as AsyncIterable<AuditRecord>;
      const fault = await firstFault(verifier, { anchors: inMsEach(client.audit.anchors()), kept, records });
      const { records: read, chains, anchors: sealed } = verifier;
      const found = { records: read, chains, anchors: sealed, kept: kept.length, fault };
      const seals = `${counted(sealed, "anchor")}, ${counted(kept.length, "kept one")}`;
      const counts = `${counted(read, "record")} in ${counted(chains, "chain")}, ${seals}`;
      output.print(found, () =>
        fault === null ? `sound: ${counts}` : `${fault.kind} ${fault.where}: ${fault.message}`,
      );
      if (fault !== null) process.exitCode = EXIT.failed;
    });
}

/** Anchors in the lines of a file. @throws {Failure} the file cannot be read, or has none */
function keptIn(file: string): AuditAnchor[] {
  const found = anchorsIn(textOf(file));
  if (found.length > 0) return found;
  throw new Failure(`${file} has no anchors: give lines of a server's log, or of mainspring audit export`, EXIT.usage);
}

async function* inMsEach<T extends { at: string }>(all: AsyncIterable<T>) {
  for await (const one of all) yield inMs(one);
}

function publicKeyIn(file: string): KeyObject {
  try {
    return createPublicKey(textOf(file));
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${file} has no key in PEM`, EXIT.usage);
  }
}

function signedBy(key: KeyObject): (anchor: { hash: string; signature: string | null }) => boolean {
  return ({ hash, signature }) =>
    signature !== null && verifySignature(null, Buffer.from(hash), key, Buffer.from(signature, "base64"));
}

/** @throws {Failure} */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Failure(`${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`, EXIT.usage);
  }
}
