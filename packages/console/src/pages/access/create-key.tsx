import type { CreatedApiKeyBody } from "@mainspring/contract";
import { API_KEY_KINDS } from "@mainspring/contract/enums";
import { ask } from "../../api/client.ts";
import { type Field, Form } from "../../parts/form.tsx";
import { isOpen, may } from "../../state/session.ts";
import { ACCESS_TEXTS } from "../../texts/access-texts.ts";
import { TEXTS } from "../../texts.ts";

/** Kinds that only operators may give. */
const OF_OPERATORS: readonly string[] = ["OPERATOR", "METRICS"];

/** Form of a new key, with the kinds that the caller may give. */
export function CreateKey({ show }: { show(key: CreatedApiKeyBody): void }) {
  const isOperator = may("system:admin");
  const kinds = API_KEY_KINDS.filter((kind) => isOperator || !OF_OPERATORS.includes(kind));
  const fields: Field[] = [
    // The first key of a server must be one of operators.
    {
      name: "kind",
      label: ACCESS_TEXTS.kind,
      values: isOpen() ? ["OPERATOR", ...kinds.filter((kind) => kind !== "OPERATOR")] : kinds,
    },
    { name: "name", label: ACCESS_TEXTS.ofPeople, isRequired: true },
    ...(isOperator ? [{ name: "tenant", label: ACCESS_TEXTS.ownTenant }] : []),
    { name: "pools", label: ACCESS_TEXTS.poolsField },
    { name: "expiresAt", label: ACCESS_TEXTS.expiresField, hint: TEXTS.timeHint },
  ];
  const create = async ({ pools, ...given }: Record<string, string>) => {
    const named = pools?.split(",").flatMap((one) => (one.trim() === "" ? [] : [one.trim()]));
    const body = { ...given, ...(named !== undefined && { pools: named }) };
    show(await ask<CreatedApiKeyBody>("api-keys", { method: "POST", body }));
  };
  return <Form label={ACCESS_TEXTS.createKey} fields={fields} act={create} />;
}
