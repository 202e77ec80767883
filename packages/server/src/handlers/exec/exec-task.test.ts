import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";
import { TerminalError } from "@mainspring/sdk";
import { execScene } from "./exec-scene.fixture.ts";

const KIB = 1024;

describe("exec", { skip: process.platform === "win32" }, () => {
  it("runs a program, and its result is what it wrote", async (test) => {
    const { call, clock } = await execScene(test);
    const { result } = call({ argv: ["sh", "-c", "cat; pwd; echo oops >&2"], stdin: "in\n", cwd: "/usr" });
    assert.deepEqual(await result, {
      exitCode: 0,
      stdout: "in\n/usr\n",
      stderr: "oops\n",
      stdoutDroppedBytes: 0,
      stderrDroppedBytes: 0,
    });
    assert.equal(clock.timers.size, 0);
  });

  it("gives it no more environment than the payload says, and finds it by that PATH or the system's", async (test) => {
    const { call } = await execScene(test);
    assert.equal((await call({ argv: ["env"] }).result).stdout, "");
    assert.equal(
      (await call({ argv: ["env"], env: { PATH: "/usr/bin:/bin", A: "b=c" } }).result).stdout,
      "PATH=/usr/bin:/bin\nA=b=c\n",
    );
    await assert.rejects(call({ argv: ["env"], env: { PATH: "/nowhere" } }).result, TerminalError);
  });

  it("has no shell between", async (test) => {
    const { call } = await execScene(test);
    assert.equal((await call({ argv: ["echo", "$PATH;", "`id`", "*", "a b"] }).result).stdout, "$PATH; `id` * a b\n");
  });

  it("does not mind a program that does not read what it is given", async (test) => {
    const { call } = await execScene(test);
    assert.equal((await call({ argv: ["true"], stdin: "x".repeat(900 * KIB) }).result).exitCode, 0);
  });

  it("keeps the end of what it writes, and says how much is missing", async (test) => {
    const { call } = await execScene(test);
    const program = `process.stdout.write("é".repeat(1e6) + "end"); process.stderr.write("\\0".repeat(70_000));`;
    const result = await call({ argv: [process.execPath, "-e", program] }).result;
    assert.match(result.stdout, /^.é+end$/);
    assert.equal(result.stdoutDroppedBytes, 2_000_003 - 64 * KIB);
    assert.equal(result.stderr.length, 64 * KIB);
    assert.ok(Buffer.byteLength(JSON.stringify(result)) < 1024 * KIB);
  });

  it("fails with the exit code, or the signal, and the end of what it complained", async (test) => {
    const { call } = await execScene(test);
    await assert.rejects(call({ argv: ["sh", "-c", "echo on; echo no room >&2; exit 3"] }).result, (error: Error) => {
      assert.equal(String(error), "ProgramFailed: sh exited with code 3: no room");
      return !(error instanceof TerminalError);
    });
    await assert.rejects(call({ argv: ["sh", "-c", "kill -KILL $$"] }).result, { message: "sh was ended by SIGKILL" });
  });

  it("fails for good where the program cannot be started", async (test) => {
    const { call } = await execScene(test);
    for (const payload of [{ argv: ["/nowhere/x"] }, { argv: ["/etc"] }, { argv: ["true"], cwd: "/nowhere" }]) {
      await assert.rejects(call(payload).result, (error: Error) => {
        assert.match(error.message, /cannot be started in .*: (ENOENT|EACCES)$/);
        return error instanceof TerminalError;
      });
    }
  });

  it("tells the program, and all that it started, to stop when it is cancelled or times out", async (test) => {
    for (const cause of ["CANCELLED", "TIMED_OUT"] as const) {
      const { call, begun, reporting, clock } = await execScene(test);
      const child = reporting("");
      const { result, abort } = call(
        reporting(
          `require("node:child_process").spawn(${JSON.stringify(child.argv[0])}, ${JSON.stringify(child.argv.slice(1))});`,
        ),
      );
      const [leader, follower] = [await begun(), await begun()];
      abort(cause);
      await assert.rejects(result, { message: /was ended by SIGTERM after it was told to stop/ });
      await Promise.all([leader.ended, follower.ended]);
      assert.equal(clock.timers.size, 0);
    }
  });

  it("kills what does not stop within the grace time", async (test) => {
    const { call, begun, reporting, clock } = await execScene(test);
    const { result, abort } = call(reporting(`process.on("SIGTERM", () => socket.write("heard"));`), 2_500);
    const leader = await begun();
    abort("CANCELLED");
    await leader.said;
    clock.fire(2_500);
    await assert.rejects(result, { message: /was ended by SIGKILL after it was told to stop/ });
    await leader.ended;
  });

  it("has not succeeded where it exits with 0 because it was told to stop", async (test) => {
    const { call, begun, reporting } = await execScene(test);
    const { result, abort } = call(reporting(`process.on("SIGTERM", () => process.exit(0));`));
    await begun();
    abort("CANCELLED");
    await assert.rejects(result, /exited with code 0 after it was told to stop/);
  });

  it("kills at once when the worker leaves: nobody is there when the grace time is over", async (test) => {
    const { call, begun, reporting } = await execScene(test);
    const { result, abort } = call(reporting(`process.on("SIGTERM", () => {});`));
    const leader = await begun();
    abort("WORKER_LEAVES");
    await assert.rejects(result, /was ended by SIGKILL/);
    await leader.ended;
  });

  it("leaves nothing running that a program left behind", async (test) => {
    const { call, begun, reporting } = await execScene(test);
    const [node, ...args] = reporting("").argv;
    const leave = `const child = require("node:child_process").spawn(${JSON.stringify(node)}, ${JSON.stringify(args)}, { stdio: "inherit" });`;
    const { result } = call(reporting(`${leave} socket.on("data", () => process.exit(0));`));
    const [leader, follower] = [await begun(), await begun()];
    leader.say("go");
    assert.equal((await result).exitCode, 0);
    await follower.ended;
  });

  it("does not wait for a descendant that left the group and holds the output open", async (test) => {
    const { call, begun, reporting, clock } = await execScene(test);
    const [node, ...args] = reporting("").argv;
    const leave = `require("node:child_process").spawn(${JSON.stringify(node)}, ${JSON.stringify(args)}, { stdio: "inherit", detached: true }).unref();`;
    const { result } = call(reporting(`${leave} socket.on("data", () => process.exit(0));`));
    const [leader] = [await begun(), await begun()];
    leader.say("go");
    await clock.set(1_000);
    clock.fire(1_000);
    assert.equal((await result).exitCode, 0);
  });

  it("takes the program with it when its own process ends", async (test) => {
    const { begun, reporting } = await execScene(test);
    const module = new URL("process-group.ts", import.meta.url).href;
    const payload = JSON.stringify(reporting(`process.on("SIGTERM", () => {});`));
    const host = `const { ProcessGroup } = await import(${JSON.stringify(module)});
      new ProcessGroup(${payload}, {}); process.stdin.on("data", () => process.exit(1));`;
    const parent = spawn(process.execPath, ["--input-type=module", "-e", host], {
      stdio: ["pipe", "ignore", "inherit"],
    });
    const program = await begun();
    parent.stdin.write("end");
    const [[exitCode]] = await Promise.all([once(parent, "exit"), program.ended]);
    assert.equal(exitCode, 1);
  });

  it("refuses for good a payload that says something else", async (test) => {
    const { call } = await execScene(test);
    const wrong: [object, RegExp][] = [
      [{}, /argv: is missing/],
      [{ argv: "ls -l" }, /argv: must be a list of texts without NUL/],
      [{ argv: [] }, /argv: must be a list/],
      [{ argv: [""] }, /argv: must begin with the name or path of a program/],
      [{ argv: ["ls", "a\0b"] }, /argv: must be a list of texts without NUL/],
      [{ argv: ["ls"], env: { "A=B": "c" } }, /env: must be an object/],
      [{ argv: ["ls"], env: { A: 5 } }, /env: must be an object/],
      [{ argv: ["ls"], cwd: "here" }, /cwd: must be the absolute path of a folder/],
      [{ argv: ["ls"], stdin: {} }, /stdin: must be the text/],
      [{ argv: ["ls"], shell: true }, /shell: is no field here: the fields are argv, env, cwd, stdin/],
    ];
    for (const [payload, message] of wrong) {
      await assert.rejects(call(payload).result, (error: Error) => {
        assert.match(error.message, message);
        return error instanceof TerminalError;
      });
    }
  });
});
