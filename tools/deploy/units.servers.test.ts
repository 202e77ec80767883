import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { before, describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { installDebianPackage } from "../services/debian.ts";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../..");
const UNITS = join(ROOT, "deploy/systemd");
/** Receives the datagrams that a program sends to a service manager, and prints one a line, except the
 * barrier behind each. Node has no datagram sockets of Unix. */
const RECEIVER = `
import socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print("listening", flush=True)
while True:
    message = receiver.recv(4096).decode().replace("\\n", " ")
    if message != "BARRIER=1":
        print(message, flush=True)
`;

describe("the units of systemd", () => {
  before(async () => {
    if (!existsSync("/usr/bin/systemd-analyze")) await installDebianPackage("systemd", "systemd checks the units");
  });

  async function folderOf(t: TestContext): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), "mainspring-units-"));
    t.after(() => rm(folder, { recursive: true }));
    return folder;
  }

  it("are units that systemd understands", async (t) => {
    const folder = await folderOf(t);
    for (const name of await readdir(UNITS)) {
      const unit = await readFile(join(UNITS, name), "utf8");
      // systemd looks for the program, which is not installed here.
      assert.ok(unit.includes("ExecStart=/usr/local/bin/mainspring "));
      await writeFile(join(folder, name), unit.replace("/usr/local/bin/mainspring", "/bin/true"));
    }
    const files = (await readdir(folder)).map((name) => join(folder, name));
    const { stdout, stderr } = await run("systemd-analyze", ["verify", "--man=no", ...files]);
    assert.equal(stdout + stderr, "");
  });

  it("let a server listen on all addresses, for which it asks the kernel", async () => {
    const unit = await readFile(join(UNITS, "mainspring.service"), "utf8");
    assert.match(unit, /^RestrictAddressFamilies=.*\bAF_NETLINK\b/m);
  });

  it("hear from the server when it is ready and when it stops", async (t) => {
    const folder = await folderOf(t);
    const socket = join(folder, "notify");
    const receiver = spawn("python3", ["-c", RECEIVER, socket], { stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => receiver.kill());
    const lines = createInterface({ input: receiver.stdout })[Symbol.asyncIterator]();
    const next = async () => (await lines.next()).value;
    assert.equal(await next(), "listening");
    const env = {
      ...process.env,
      NOTIFY_SOCKET: socket,
      MAINSPRING_DATA_DIR: join(folder, "data"),
      MAINSPRING_HTTP: "127.0.0.1:0",
      MAINSPRING_GRPC: "127.0.0.1:0",
    };
    const server = spawn(process.execPath, [join(ROOT, "packages/cli/bin/mainspring.mjs"), "serve"], {
      env,
      stdio: "ignore",
    });
    const ended = once(server, "exit");
    assert.match(`${await next()}`, /^READY=1 STATUS=serves http:\/\/127\.0\.0\.1:\d+ and 127\.0\.0\.1:\d+$/);
    server.kill("SIGTERM");
    assert.match(`${await next()}`, /^STATUS=stops STOPPING=1|^STOPPING=1 STATUS=stops$/);
    assert.deepEqual(await ended, [0, null]);
  });
});
