import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { ConfigError, loadConfig } from "./config.ts";

/** Creates a folder for the tests of a suite. @returns a function that writes a file into it, and returns the path */
export function configFiles(): (content: string, name?: string) => string {
  const folder = mkdtempSync(join(tmpdir(), "config-"));
  after(() => rmSync(folder, { recursive: true }));
  return (content, name = "mainspring.json") => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  };
}

/** Message with which a configuration is refused. */
export function complaint(env: Record<string, string>): string {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message;
  }
  return "no complaint";
}
