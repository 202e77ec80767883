import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { storeAddresses } from "./store-address.ts";

describe("the addresses in a URL of PostgreSQL", () => {
  it("are one where it names one host", () => {
    for (const url of [
      "postgres://me:p%40ss@db:5432/jobs?sslmode=require",
      "postgresql:///jobs",
      "postgres://[::1]/jobs",
    ])
      assert.deepEqual(storeAddresses(url), [url]);
  });

  it("are one for each host, with all the rest in common", () => {
    assert.deepEqual(storeAddresses("postgres://me:a,b@db1:5432,[::1],%2Ftmp%2Fpg:6000/jobs?a=1,2"), [
      "postgres://me:a,b@db1:5432/jobs?a=1,2",
      "postgres://me:a,b@[::1]/jobs?a=1,2",
      "postgres://me:a,b@%2Ftmp%2Fpg:6000/jobs?a=1,2",
    ]);
  });

  it("are none where it is no such URL, or a host is missing or wrong", () => {
    const wrong = [
      "",
      "embedded",
      "http://db/",
      "postgres://db1,,db2/jobs",
      "postgres://db1,/jobs",
      "postgres://a,b:port/x",
    ];
    for (const url of wrong) assert.equal(storeAddresses(url), null, url);
  });
});
