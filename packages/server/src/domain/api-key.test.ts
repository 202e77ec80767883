import assert from "node:assert/strict";
import { it } from "node:test";
import { crc32 } from "node:zlib";
import { API_KEY_KINDS } from "@mainspring/contract/enums";
import { KEY_ALPHABET, KEYS_IN_TEXT, keyHint, keyKind, keyText, servesPool } from "./api-key.ts";

const RANDOM = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZab";

it("writes a key whose end is the CRC-32 of the rest, and reads its kind back", () => {
  for (const kind of API_KEY_KINDS) {
    const key = keyText(kind, RANDOM);
    assert.equal(keyKind(key), kind);
    const digits = [...key.slice(-6)].map((digit) => KEY_ALPHABET.indexOf(digit));
    assert.equal(
      digits.reduce((sum, digit) => sum * 62 + digit, 0),
      crc32(key.slice(0, -6)),
    );
    assert.deepEqual(`say "${key}", twice: ${key}.`.match(KEYS_IN_TEXT), [key, key]);
  }
  assert.equal(keyHint(keyText("CLIENT", RANDOM)), `msc_…${keyText("CLIENT", RANDOM).slice(-4)}`);
});

it("refuses a key in which one character is wrong", () => {
  const key = keyText("WORKER", RANDOM);
  for (let at = 0; at < key.length; at++) {
    const other = key.charAt(at) === "7" ? "8" : "7";
    assert.equal(keyKind(key.slice(0, at) + other + key.slice(at + 1)), null);
  }
  for (const wrong of ["", key.slice(1), `${key}0`, ` ${key}`, `${key}\n`]) assert.equal(keyKind(wrong), null);
});

it("finds pools by globs", () => {
  const cases: [string, string, boolean][] = [
    ["*", "gpu", true],
    ["gpu", "gpu", true],
    ["gpu", "gpu2", false],
    ["gpu-*", "gpu-", true],
    ["gpu-*", "gpu", false],
    ["*-eu", "gpu-eu", true],
    ["*-eu", "gpu-eu-1", false],
    ["a*b*c", "abc", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "acb", false],
    ["ab*ba", "aba", false],
    ["a.c", "abc", false],
  ];
  for (const [glob, pool, expected] of cases) assert.equal(servesPool([glob], pool), expected, `${glob} ${pool}`);
  assert.equal(servesPool([], "gpu"), false);
  assert.equal(servesPool(["mail", "g*"], "gpu"), true);
});
