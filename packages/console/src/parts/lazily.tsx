import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { RequestFailed } from "../api/client.ts";
import { TEXTS } from "../texts.ts";
import { Failure, Loading } from "./failure.tsx";

/** A page whose script is loaded when it is shown first, so that the first view of the console stays small. */
export function lazily<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Lazily(props: Props) {
    const [failed, setFailed] = useState(false);
    const [, setReady] = useState(false);
    const run = async () => {
      setFailed(false);
      try {
        loaded = await load();
        setReady(true);
      } catch {
        setFailed(true);
      }
    };
    useEffect(() => {
      if (loaded === null) void run();
    }, []);
    if (failed) return <Failure of={NO_ANSWER} retry={() => location.reload()} />;
    if (loaded === null) return <Loading />;
    const Page = loaded;
    return <Page {...props} />;
  };
}

/** The browser does not load a script again within one document, so only a reload helps. */
const NO_ANSWER = new RequestFailed({ type: "", title: TEXTS.noAnswer, status: 0, detail: TEXTS.noAnswerHelp });
