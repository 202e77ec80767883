import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { buildConsole } from "./build.ts";

/** Largest size of the scripts of the first view, as they are sent, in bytes. */
const SCRIPTS_MAX_BYTES = 120 * 1024;

describe("the built console", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "console-build-"));
    buildConsole(join(folder, "out"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const files = (pattern: string) => globSync(pattern, { cwd: join(folder, "out") });
  const read = (file: string) => readFile(join(folder, "out", file));

  it("sends at most 120 KiB of scripts", async () => {
    let bytes = 0;
    for (const file of files("**/*.js")) bytes += gzipSync(await read(file), { level: 9 }).length;
    assert.ok(bytes > 10_000 && bytes <= SCRIPTS_MAX_BYTES, `${bytes} bytes`);
  });

  it("has neither code within its page nor addresses of elsewhere", async () => {
    const page = String(await read("index.html"));
    assert.doesNotMatch(page, /<script(?![^>]*src=)|<style|style=|\son\w+=/);
    const addresses = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = ""]) => address);
    assert.ok(addresses.length >= 3);
    for (const address of addresses) assert.match(address, /^\.\/assets\//);
    assert.doesNotMatch(String(await read(files("**/*.css")[0] ?? "")), /url\(|@import/);
  });

  it("carries the licences of what it contains", async () => {
    const licences = String(await read("licenses.md"));
    for (const name of ["preact", "@preact/signals", "uplot"]) assert.match(licences, new RegExp(name));
  });
});
