import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import type { ServerResponse } from "node:http";
import { describe, it } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { TerminalError } from "@mainspring/sdk";
import { Agent, request } from "undici";
import { CERTIFICATE } from "./certificate.fixture.ts";
import { guardedConnector, type Lookup } from "./guarded-connector.ts";
import { httpScene } from "./http-scene.fixture.ts";

/** A name server that gives the same answer for every name. */
function allAre(...found: LookupAddress[]): Lookup {
  return (_host, _options, done) => done(null, found);
}

const HERE = { address: "127.0.0.1", family: 4 };
const THERE = { address: "::1", family: 6 };

describe("where a request may go", () => {
  it("refuses for good every way to write an address of this machine, and sends nothing", async (test) => {
    const { port, received, call } = await httpScene(test, (response) => response.end(), { allowPrivate: [] });
    const hosts = [
      "127.0.0.1",
      "2130706433",
      "0x7f.1",
      "017700000001",
      "127.1",
      "１２７.0.0.1",
      "localhost",
      "0.0.0.0",
    ];
    const ipv6 = ["[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::]"];
    for (const host of [...hosts, ...ipv6]) {
      await assert.rejects(call({ url: `http://${host}:${port}/` }).result, (error: Error) => {
        assert.equal(error.name, "AddressRefused", `${host}: ${error.message}`);
        return error instanceof TerminalError;
      });
    }
    assert.equal(received.length, 0);
  });

  it("judges a name by the address that it has now", async (test) => {
    let found = HERE;
    const lookup: Lookup = (_host, _options, done) => done(null, [found]);
    const answer = (response: ServerResponse) => void response.setHeader("connection", "close").end("here");
    const { port, received, call } = await httpScene(test, answer, { lookup });
    const url = `http://rebound.example:${port}/`;
    assert.equal((await call({ url }).result).body, "here");
    found = { address: "169.254.169.254", family: 4 };
    await assert.rejects(call({ url }).result, {
      name: "AddressRefused",
      message: /^rebound[.]example is 169[.]254[.]169[.]254, which is a linkLocal address/,
    });
    assert.equal(received.length, 1);
  });

  it("reaches a name by those of its addresses that it may use", async (test) => {
    const { port, call } = await httpScene(test, (response) => response.end(), { lookup: allAre(THERE, HERE) });
    assert.equal((await call({ url: `http://both.example:${port}/` }).result).status, 200);
  });

  it("judges again by the other end of the connection", async (test) => {
    const { server, port, received } = await httpScene(test, (response) => response.end());
    const asked: string[] = [];
    // Allows every address before the connection, as a policy would whose answer was true then.
    const policy = { refusal: (address: string) => (asked.push(address) > 1 ? "loopback" : null) };
    const agent = new Agent({ connect: guardedConnector(policy) });
    const closed = new Promise((resolve) => server.once("connection", (socket) => socket.once("close", resolve)));
    await assert.rejects(request(`http://127.0.0.1:${port}/`, { dispatcher: agent }), { name: "AddressRefused" });
    await closed;
    assert.deepEqual([asked, received.length], [["127.0.0.1", "127.0.0.1"], 0]);
  });

  it("says when a name is not known, and leaves that to another attempt", async (test) => {
    const lookup: Lookup = (host, _options, done) =>
      done(Object.assign(new Error(`ENOTFOUND ${host}`), { code: "ENOTFOUND" }), []);
    const { call } = await httpScene(test, (response) => response.end(), { lookup });
    await assert.rejects(
      call({ url: "http://nobody.example/" }).result,
      /^Error: GET http:\/\/nobody.example failed: ENOTFOUND/,
    );
    const nowhere = await httpScene(test, (response) => response.end(), { lookup: allAre() });
    await assert.rejects(nowhere.call({ url: "http://empty.example/" }).result, /empty.example has no address/);
  });

  it("speaks TLS to those whom it can trust only", async (test) => {
    const { port, received, call } = await httpScene(test, (response) => response.end("sealed"), {
      tls: true,
      lookup: allAre(HERE),
    });
    await assert.rejects(call().result, /failed: self-signed certificate/);
    assert.equal(received.length, 0);
    const before = getCACertificates("default");
    test.after(() => setDefaultCACertificates(before));
    setDefaultCACertificates([...before, CERTIFICATE]);
    assert.equal((await call().result).body, "sealed");
    assert.equal((await call({ url: `https://hooks.example:${port}/` }).result).body, "sealed");
    await assert.rejects(call({ url: `https://other.example:${port}/` }).result, /does not match certificate/);
  });
});
