const focusable = 'a[href], button, input, select, textarea, [tabindex]';
/** What screen readers can name: elsewhere, nobody would know where they are. */
const named = ':is(a[href], button, input, select, textarea, main, [aria-label], [aria-labelledby]):not(:disabled)';

/** What has the focus when nothing in it has. */
const surroundings = 'body, main, [role=dialog]';

/** Where the focus was: the element, then what surrounds it. */
type Place = readonly Element[];

/**
 * Keeps the focus near its place when its element goes away or is disabled: a dialog that closes, a row that is deleted, an action that is done.
 * Otherwise it falls to the body, and who works by keyboard or screen reader begins the page again. @returns a function that ends it
 */
export function keepFocus(): () => void {
  let last: Place = [];
  /** A disabled element that lost the focus, and what has it until it is enabled again. */
  let parted: { readonly from: HTMLElement; readonly to: HTMLElement } | undefined;
  /** The last place in each dialog, and in the page, to which the focus returns from what opens over it. */
  const places = new WeakMap<Element, Place>();

  const note = ({ target }: FocusEvent): void => {
    if (!(target instanceof Element)) return;
    last = placeOf(target);
    places.set(target.closest('[role=dialog]') ?? document.body, last);
  };
  const restore = (): void => {
    if (parted && document.activeElement === parted.to && isThere(parted.from) && !parted.from.matches(':disabled')) {
      parted.from.focus({ preventScroll: true });
      parted = undefined;
    }
    // A disabled element loses the focus only when the page is drawn.
    if (!document.activeElement?.matches(`${surroundings}, :disabled`) || last.length === 0) return;
    const dialog = [...document.querySelectorAll('[role=dialog]')].at(-1);
    const before = places.get(dialog ?? document.body) ?? [];
    for (const [element] of [last, before]) {
      if (!(element instanceof HTMLElement) || !isThere(element)) continue;
      if (!element.matches(':disabled')) {
        element.focus({ preventScroll: true });
        return;
      }
    }
    const next = dialog ?? before.find((one) => isThere(one) && one.matches(named));
    if (next instanceof HTMLElement) {
      if (!next.matches(focusable)) next.tabIndex = -1;
      next.focus({ preventScroll: true });
      const [from] = before;
      parted = from instanceof HTMLElement && from.matches(':disabled') ? { from, to: next } : undefined;
    }
  };
  const release = ({ target }: FocusEvent): void => {
    queueMicrotask(() => {
      if (!(target instanceof Element) || !target.isConnected || document.activeElement !== document.body) return;
      // Clicking where nothing takes the focus is no loss of it, but beside a dialog, which closes.
      if (!isThere(target) || target.matches(':disabled')) restore();
      else if (!target.closest('[role=dialog]')) last = [];
    });
  };
  const observer = new MutationObserver(restore);
  observer.observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['disabled'] });
  document.addEventListener('focusin', note);
  document.addEventListener('focusout', release);
  return () => {
    observer.disconnect();
    document.removeEventListener('focusin', note);
    document.removeEventListener('focusout', release);
  };
}

/** Whether it is on the page, and not on one that was left. */
const isThere = (element: Element): boolean => element.isConnected && element.checkVisibility();

/** Of an item of a menu, the place of the button that opened it. */
function placeOf(element: Element): Place {
  const opener = document.getElementById(element.closest('[role=menu]')?.getAttribute('aria-labelledby') ?? '');
  const place: Element[] = [];
  for (let one: Element | null = opener ?? element; one; one = one.parentElement) place.push(one);
  return place;
}
