import type { CreatedApiKeyBody } from "@mainspring/contract";
import { useState } from "preact/hooks";
import { visible } from "../../text/visible.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";

/** A new key, once. Its text is in the memory of this page alone, until the user puts it away or leaves the page. */
export function NewKey({ of: { name, key }, putAway }: { of: CreatedApiKeyBody; putAway(): void }) {
  const [outcome, setOutcome] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(key);
      setOutcome(ACCESS_TEXTS.copied);
    } catch {
      // Browsers let pages copy only over https and on the own machine.
      setOutcome(ACCESS_TEXTS.copyByHand);
    }
  };
  return (
    <section class="panel">
      <h2>{ACCESS_TEXTS.newKey(visible(name))}</h2>
      <p>{ACCESS_TEXTS.newKeyHelp}</p>
      <pre class="new-key">{key}</pre>
      <p class="row">
        <button type="button" class="main" onClick={() => void copy()}>
          {ACCESS_TEXTS.copy}
        </button>
        <button type="button" onClick={putAway}>
          {ACCESS_TEXTS.putAway}
        </button>
        <span role="status">{outcome}</span>
      </p>
    </section>
  );
}
