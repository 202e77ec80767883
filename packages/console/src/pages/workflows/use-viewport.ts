import { useEffect, useRef, useState } from "preact/hooks";
import { moved, type Size, type Viewport, whole, zoomed } from "./viewport.ts";

interface Point {
  x: number;
  y: number;
}

/** Movement from which on a press is a drag and no click, in pixels. */
const DRAG_PX = 4;
const WHEEL_STEP = 1.2;

/**
 * Lets people move and zoom a drawing.
 * @param drawing a new one is shown as a whole. @param click called with the place in the drawing
 */
export function useViewport(drawing: Size, click: (at: Point) => void) {
  const place = useRef<SVGSVGElement>(null);
  const [size, setSize] = useState<Size>({ width: 800, height: 400 });
  const [held, setView] = useState<{ of: Size; view: Viewport } | null>(null);
  const least = whole(drawing, size).scale;
  const view = held?.of === drawing ? held.view : whole(drawing, size);
  const now = useRef({ view, least, click, drawing });
  now.current = { view, least, click, drawing };
  const show = (next: Viewport) => {
    now.current.view = next;
    setView({ of: now.current.drawing, view: next });
  };
  const zoomAt = (factor: number, at: Point) => show(zoomed(now.current.view, factor, at, now.current.least));
  useEffect(() => {
    const { current } = place;
    if (current === null) return undefined;
    const resized = new ResizeObserver(() => setSize({ width: current.clientWidth, height: current.clientHeight }));
    resized.observe(current);
    const listening = listen(current, {
      drag: (by) => show(moved(now.current.view, by)),
      click: ({ x, y }) => {
        const { view: seen } = now.current;
        now.current.click({ x: seen.x + x / seen.scale, y: seen.y + y / seen.scale });
      },
      zoom: zoomAt,
    });
    return () => {
      resized.disconnect();
      listening.abort();
    };
  }, []);
  const middle = { x: size.width / 2, y: size.height / 2 };
  return { place, size, view, zoom: (factor: number) => zoomAt(factor, middle), showAll: () => setView(null) };
}

interface Moves {
  drag(by: Point): void;
  click(at: Point): void;
  zoom(factor: number, at: Point): void;
}

/** Listens to the pointer and the wheel on an element. */
function listen(element: SVGSVGElement, { drag, click, zoom }: Moves): AbortController {
  const until = new AbortController();
  const { signal } = until;
  let pressed: { last: Point; isDrag: boolean } | null = null;
  const pointOf = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top } = element.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  element.addEventListener(
    "pointerdown",
    (event) => {
      pressed = { last: pointOf(event), isDrag: false };
      element.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  element.addEventListener(
    "pointermove",
    (event) => {
      if (pressed === null) return;
      const at = pointOf(event);
      const by = { x: at.x - pressed.last.x, y: at.y - pressed.last.y };
      if (!pressed.isDrag && Math.hypot(by.x, by.y) < DRAG_PX) return;
      pressed = { last: at, isDrag: true };
      drag(by);
    },
    { signal },
  );
  element.addEventListener(
    "pointerup",
    (event) => {
      if (pressed?.isDrag === false) click(pointOf(event));
      pressed = null;
    },
    { signal },
  );
  element.addEventListener(
    "wheel",
    (event) => {
      // The wheel alone scrolls the page.
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? WHEEL_STEP : 1 / WHEEL_STEP, pointOf(event));
    },
    { signal, passive: false },
  );
  return until;
}
