import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AddressPolicy } from "./address-policy.ts";

const REFUSED: Record<string, string[]> = {
  loopback: ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1"],
  unspecified: ["0.0.0.0", "0.1.2.3", "::"],
  private: ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "::ffff:10.0.0.1", "64:ff9b::a00:1"],
  linkLocal: ["169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe"],
  uniqueLocal: ["fc00::1", "fd00:ec2::254"],
  carrierGradeNat: ["100.64.0.1", "100.100.100.200"],
  metadata: ["168.63.129.16", "::ffff:168.63.129.16"],
  multicast: ["224.0.0.1", "239.255.255.255", "ff02::1"],
  broadcast: ["255.255.255.255"],
  "6to4": ["2002:7f00:1::", "2002:808:808::1"],
  teredo: ["2001:0:4136:e378:8000:63bf:3fff:fdd2"],
  rfc6145: ["::ffff:0:127.0.0.1"],
  // A translator with its own prefix puts the address elsewhere: here it is 127.0.0.1, although its end looks public.
  rfc6052: ["64:ff9b:1:7f00:0:100:808:808"],
  deprecatedSiteLocal: ["fec0::1"],
  reserved: ["192.0.0.192", "192.0.2.1", "198.18.0.1", "240.0.0.1", "2001:db8::1", "3fff::1", "4000::1", "::2"],
  unknown: ["", "localhost", "127.0.0.1:80", "[::1]"],
};

describe("which addresses may be connected to", () => {
  it("refuses all that is not the public internet, however it is written", () => {
    const policy = new AddressPolicy([]);
    for (const [kind, addresses] of Object.entries(REFUSED)) {
      for (const address of addresses) assert.equal(policy.refusal(address), kind, address);
    }
  });

  it("lets the public internet pass, through NAT64 too", () => {
    const policy = new AddressPolicy([]);
    for (const address of ["8.8.8.8", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]) {
      assert.equal(policy.refusal(address), null, address);
    }
  });

  it("lets pass what the configuration allows, and nothing beside it", () => {
    const policy = new AddressPolicy(["127.0.0.0/8", "10.1.0.0/16", "fd00::/8"]);
    for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3", "64:ff9b::a01:203", "fd12::1"]) {
      assert.equal(policy.refusal(address), null, address);
    }
    for (const address of ["10.2.0.1", "::1", "fc00::1", "169.254.169.254"]) assert.ok(policy.refusal(address));
    const open = new AddressPolicy(["0.0.0.0/0", "::/0"]);
    for (const address of [...(REFUSED.loopback ?? []), "fe80::1%eth0"]) assert.equal(open.refusal(address), null);
  });
});
