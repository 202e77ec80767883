import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { isRelative, now, zone } from "../state/preferences.ts";
import { linkTo } from "../state/route.ts";
import { absoluteText, durationText, relativeText } from "../text/times.ts";
import { visible } from "../text/visible.ts";
import { TEXTS } from "../texts.ts";

const NAME_CHARS_MAX = 200;

/** A name from elsewhere, which cannot reorder the text around it. */
export function Name({ of }: { of: string | null }) {
  if (of === null) return <span class="dim">{TEXTS.none}</span>;
  const text = visible(of);
  const isLong = text.length > NAME_CHARS_MAX;
  return <bdi title={isLong ? text : undefined}>{isLong ? `${text.slice(0, NAME_CHARS_MAX)}…` : text}</bdi>;
}

/** Link to the page of an id, by the end of the id, where ids of the same time differ. */
export function IdLink({ page, id }: { page: "executions" | "jobs" | "workflows"; id: string }) {
  return (
    <a href={linkTo([page, id])}>
      <code class="id" title={id}>
        …{id.slice(-12)}
      </code>
    </a>
  );
}

/** An instant, in the form that the user has chosen; the other form is its title. */
export function Time({ at }: { at: string | null }) {
  const texts = useMemo(() => (at === null ? null : textsOf(Date.parse(at))), [at]);
  if (at === null || texts === null) return <span class="dim">–</span>;
  return (
    <time dateTime={at} title={texts.title}>
      {texts.shown}
    </time>
  );
}

/** Texts of an instant. Time passes without a render: each text changes its node in the document when it differs. */
function textsOf(atMs: number) {
  const far = computed(() => absoluteText(atMs, zone.value));
  const near = computed(() => relativeText(atMs, now.value));
  return {
    shown: computed(() => (isRelative.value ? near.value : far.value)),
    title: computed(() => (isRelative.value ? far.value : near.value)),
  };
}

/** Time between two instants. @param to null: until now */
export function Span({ from, to }: { from: string | null; to: string | null }) {
  const text = useMemo(() => (from === null ? null : durationOf(Date.parse(from), to)), [from, to]);
  return text === null ? <span class="dim">–</span> : <span>{text}</span>;
}

function durationOf(fromMs: number, to: string | null) {
  return computed(() => durationText(Math.max(0, (to === null ? now.value : Date.parse(to)) - fromMs)));
}

/** A state, by its word and a colour. */
export function State({ of }: { of: string }) {
  return <span class={`state state-${of.toLowerCase()}`}>{of}</span>;
}
