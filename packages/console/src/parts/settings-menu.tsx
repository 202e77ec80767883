import type { TargetedSubmitEvent } from "preact";
import { useState } from "preact/hooks";
import { isRelative, ownZone, THEMES, theme, zone } from "../state/preferences.ts";
import { narrow, tenant } from "../state/route.ts";
import { isOpen, logOut, may, session } from "../state/session.ts";
import { useAction } from "../state/use-answer.ts";
import { isZone } from "../text/times.ts";
import { TEXTS } from "../texts.ts";
import { Failure } from "./failure.tsx";

/** Preferences of this browser, the tenant, and the caller. */
export function SettingsMenu() {
  return (
    <details class="settings">
      <summary>{TEXTS.settings}</summary>
      <div>
        <label>
          {TEXTS.theme}
          <select onChange={(event) => (theme.value = pickedTheme(event.currentTarget.value))}>
            {THEMES.map((name) => (
              <option key={name} value={name} selected={name === theme.value}>
                {TEXTS.themes[name]}
              </option>
            ))}
          </select>
        </label>
        <label>
          {TEXTS.times}
          <select onChange={(event) => (isRelative.value = event.currentTarget.value === "relative")}>
            <option value="relative" selected={isRelative.value}>
              {TEXTS.relative}
            </option>
            <option value="absolute" selected={!isRelative.value}>
              {TEXTS.absolute}
            </option>
          </select>
        </label>
        <ZoneField />
        {may("tenants:act") && <TenantField />}
        <Caller />
      </div>
    </details>
  );
}

function pickedTheme(value: string) {
  return THEMES.find((name) => name === value) ?? "system";
}

function ZoneField() {
  const [isUnknown, setUnknown] = useState(false);
  const pick = (name: string) => {
    setUnknown(!isZone(name));
    if (isZone(name)) zone.value = name;
  };
  return (
    <>
      <label>
        {TEXTS.zone}
        <input
          value={zone.value}
          onChange={(event) => pick(event.currentTarget.value.trim())}
          aria-invalid={isUnknown}
        />
        {isUnknown && <span role="alert">{TEXTS.zoneUnknown}</span>}
      </label>
      <button type="button" onClick={() => pick(ownZone())}>
        {TEXTS.ownZone}
      </button>
    </>
  );
}

function TenantField() {
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const named = String(new FormData(event.currentTarget).get("tenant") ?? "").trim();
    narrow({ tenant: named });
  };
  return (
    <form class="row" onSubmit={submit}>
      <label title={TEXTS.tenantHelp}>
        {TEXTS.tenant}
        <input name="tenant" defaultValue={tenant.value ?? ""} maxLength={40} />
      </label>
      <button type="submit">{TEXTS.apply}</button>
    </form>
  );
}

function Caller() {
  const leaving = useAction(logOut);
  const here = session.value;
  if (here.state !== "IN") return null;
  if (isOpen()) return <span class="dim">{TEXTS.openServer}</span>;
  return (
    <>
      <span class="dim">{TEXTS.loggedInAs(here.me.kind, here.me.tenant)}</span>
      <button type="button" onClick={leaving.run}>
        {TEXTS.logout}
      </button>
      <Failure of={leaving.failure} />
    </>
  );
}
