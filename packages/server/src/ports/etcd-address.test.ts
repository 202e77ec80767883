import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { etcdAddress } from "./etcd-address.ts";

describe("the address of an etcd", () => {
  it("has members, a login, a prefix and certificates", () => {
    assert.deepEqual(etcdAddress("http://127.0.0.1:2379"), {
      ...{ endpoints: ["127.0.0.1:2379"], tls: null, login: null, prefix: "mainspring" },
    });
    assert.deepEqual(etcdAddress("https://me:p%40ss:w%2Frd@a.example:2379,[::1]:2380/jobs?ca=/ca.pem&cert=c&key=k"), {
      endpoints: ["a.example:2379", "[::1]:2380"],
      tls: { ca: "/ca.pem", client: { cert: "c", key: "k" } },
      ...{ login: { name: "me", password: "p@ss:w/rd" }, prefix: "jobs" },
    });
    assert.deepEqual(etcdAddress("https://a:2379/")?.tls, { ca: null, client: null });
  });

  it("is nothing else", () => {
    const members = Array.from({ length: 17 }, (_, n) => `m${n}:2379`).join(",");
    const wrong = [
      "",
      "etcd://a:2379",
      "http://a",
      "http://a:0",
      "http://a:99999",
      "http://a:2379,",
      "http://a b:2379",
    ];
    const parts = [
      "http://me@a:2379",
      "http://me:%zz@a:2379",
      "http://a:2379/x/y",
      "http://a:2379#x",
      `http://${members}`,
    ];
    const files = [
      "http://a:1?ca=x",
      "https://a:1?ca=",
      "https://a:1?cert=x",
      "https://a:1?ca=x&ca=y",
      "https://a:1?tls=on",
    ];
    for (const text of [...wrong, ...parts, ...files]) assert.equal(etcdAddress(text), null, text);
  });
});
