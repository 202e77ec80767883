import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { redisAddress } from "./redis-address.ts";

describe("the address of a Redis", () => {
  it("has a host, a login, a database, a prefix and certificates", () => {
    assert.deepEqual(redisAddress("redis://cache"), {
      ...{ host: "cache", port: 6_379, tls: null, login: null, database: 0, prefix: "mainspring" },
    });
    assert.deepEqual(redisAddress("rediss://me:p%40ss:w%2Frd@[::1]:6380/12?prefix=jobs&ca=/ca.pem"), {
      ...{ host: "::1", port: 6_380, tls: { ca: "/ca.pem" }, login: { name: "me", password: "p@ss:w/rd" } },
      ...{ database: 12, prefix: "jobs" },
    });
    assert.deepEqual(redisAddress("rediss://:secret@a:1/")?.login, { name: null, password: "secret" });
    assert.deepEqual(redisAddress("rediss://a")?.tls, { ca: null });
  });

  it("is nothing else", () => {
    const hosts = [
      "",
      "redis://",
      "http://a",
      "redis://a:0",
      "redis://a:99999",
      "redis://a,b",
      "redis://a b",
      "redis:///1",
    ];
    const logins = ["redis://me@a", "redis://me:@a", "redis://me:%zz@a"];
    const parts = [
      "redis://a/x",
      "redis://a/1/2",
      "redis://a#x",
      "redis://a?x=1",
      "redis://a?prefix=",
      "redis://a?prefix=a:b",
    ];
    const files = ["redis://a?ca=x", "rediss://a?ca=", "rediss://a?ca=x&ca=y"];
    for (const text of [...hosts, ...logins, ...parts, ...files]) assert.equal(redisAddress(text), null, text);
  });
});
