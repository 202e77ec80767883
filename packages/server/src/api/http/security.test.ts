import assert from "node:assert/strict";
import { it } from "node:test";
import { authorizes } from "./security.ts";

it("lets in whoever shows the key, and the second one while there are two", () => {
  const [key, also] = ["the-key-until-today", "the-key-from-now-on"];
  const shown = (...keys: [string, string?]) =>
    [key, also, "", `${key} `, "another"].map((one) => authorizes(...keys)(`Bearer ${one}`));
  assert.deepEqual(shown(key), [true, false, false, false, false]);
  assert.deepEqual(shown(key, also), [true, true, false, false, false]);
  assert.equal(authorizes(key, also)(undefined), false);
});
