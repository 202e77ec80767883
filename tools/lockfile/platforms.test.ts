import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { entryFor, gapsOf } from "./platforms.ts";

describe("platforms in the lockfile", () => {
  it("finds what a package wants on another platform and npm has left out", () => {
    const packages = {
      "": {},
      "node_modules/tool": {
        dev: true,
        optionalDependencies: { "tool-linux-x64": "1.0.0", "tool-darwin-x64": "1.0.0" },
      },
      "node_modules/tool/node_modules/tool-linux-x64": { version: "1.0.0" },
    };
    assert.deepEqual(gapsOf({ packages }), [{ name: "tool-darwin-x64", version: "1.0.0", dev: true }]);
  });

  it("finds a package of a workspace where npm has put it: at the root", () => {
    const packages = {
      "packages/server": { optionalDependencies: { "db-linux-x64": "1.0.0" } },
      "node_modules/db-linux-x64": { version: "1.0.0" },
    };
    assert.deepEqual(gapsOf({ packages }), []);
  });

  it("tells the platform from the name", () => {
    const entry = (name: string) => entryFor({ name, version: "1.2.3", dev: false });
    assert.deepEqual(entry("@a/cli-win32-arm64"), { version: "1.2.3", cpu: ["arm64"], optional: true, os: ["win32"] });
    assert.deepEqual(entry("@a/b-linux-arm-musleabihf").libc, ["musl"]);
    assert.deepEqual(entry("@a/b-linux-riscv64-gnu").libc, ["glibc"]);
    assert.throws(() => entry("@a/b"), /cannot tell its platform/);
  });
});
