/**
 * Compares the boxes of what a page shows: texts, buttons, links and fields.
 * @param {import('playwright-core').Page} page
 * @returns {Promise<string[]>} what overlaps, is cut off, or lies outside the page
 */
export async function misplaced(page) {
  await untilStill(page);
  return page.evaluate(boxesOf);
}

/** Waits until what moves has arrived; what says that the page waits moves for ever. @param {import('playwright-core').Page} page */
export const untilStill = (page) => page.waitForFunction(() => document.getAnimations().every((one) => one.playState !== 'running' || one.effect?.getComputedTiming().iterations === Infinity));

function boxesOf() {
  const tolerance = 2;
  // As wide as the shell's navigation wants: below, it waits outside the page.
  const phone = innerWidth < 768;
  /** @type {string[]} */
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} px wide`);
  /** Whether it is for screen readers alone, or closed. @param {Element} element */
  const isHidden = (element) => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return true;
    for (let one = /** @type {Element | null} */ (element); one; one = one.parentElement) {
      const { clip, position } = getComputedStyle(one);
      if (position === 'absolute' && clip !== 'auto') return true;
      if (one.matches('svg, [role=img], .skip-link')) return true;
    }
    return false;
  };
  /** What an ancestor cuts off of a box. @param {Element} element @param {DOMRect} box @returns {{ by: Element, scrolls: boolean } | undefined} */
  const cutBy = (element, box) => {
    for (let one = /** @type {Element | null} */ (element); one && one !== document.body; one = one.parentElement) {
      const { overflowX, overflowY, position } = getComputedStyle(one);
      const around = one.getBoundingClientRect();
      if (overflowX !== 'visible' && (box.right > around.right + tolerance || box.left < around.left - tolerance)) return { by: one, scrolls: overflowX !== 'hidden' && overflowX !== 'clip' };
      if ((overflowY === 'hidden' || overflowY === 'clip') && box.bottom > around.bottom + tolerance) return { by: one, scrolls: false };
      if (position === 'fixed') break;
    }
    return undefined;
  };
  /** The part of a box that a list around it, which scrolls, shows. @param {Element} element @param {DOMRect} box */
  const shownOf = (element, box) => {
    let { top, bottom } = box;
    for (let one = /** @type {Element | null} */ (element); one && one !== document.body; one = one.parentElement) {
      const { overflowY, position } = getComputedStyle(one);
      const around = one.getBoundingClientRect();
      if (overflowY === 'auto' || overflowY === 'scroll') [top, bottom] = [Math.max(top, around.top), Math.min(bottom, around.bottom)];
      if (position === 'fixed') break;
    }
    return new DOMRect(box.x, top, box.width, Math.max(0, bottom - top));
  };
  /** The box of the card around an element. @param {Element} element */
  const frameOf = (element) => element.closest('.mantine-Paper-root, .mantine-Card-root')?.getBoundingClientRect();
  /** @type {{ element: Element, name: string, box: DOMRect }[]} */
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!element || !node.textContent?.trim() || isHidden(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    if (phone && element.closest('nav')) continue;
    for (const box of range.getClientRects()) if (box.width > 1) boxes.push({ element, name: `“${node.textContent.trim().slice(0, 40)}”`, box });
  }
  for (const element of document.querySelectorAll('button, input, textarea, select')) {
    const box = element.getBoundingClientRect();
    if (isHidden(element) || box.width < 2) continue;
    boxes.push({ element, name: `${element.tagName.toLowerCase()} ${element.getAttribute('aria-label') ?? element.textContent?.slice(0, 30) ?? ''}`, box });
  }
  const fixed = (/** @type {Element} */ element) => element.closest('header, nav');
  const visible = boxes.map((one) => ({ ...one, box: shownOf(one.element, one.box) })).filter(({ box }) => box.height > 0);
  const seen = visible.filter(({ element, name, box }) => {
    const cut = cutBy(element, box);
    // A table may be wider than a phone, and a list longer than its place: one scrolls there.
    if (cut?.scrolls && (phone || element.closest('pre, code, [role=listbox], textarea'))) return false;
    if (cut) {
      const shown = cut.by.getAttribute('aria-label') ?? cut.by.className;
      // An ellipsis says that there is more, and the whole is a click away. The rest of a number tells it from others.
      const isNumber = /^\d{1,12}$/.test(element.textContent?.trim() ?? '');
      if (isNumber || !(cut.by === element.parentElement || cut.by === element || element.closest('[data-truncate], [data-line-clamp]'))) found.push(`${name} is cut off by ${shown.slice(0, 60)}`);
      return false;
    }
    if (box.left < -tolerance || box.right > innerWidth + tolerance) found.push(`${name} lies outside the page, at ${Math.round(box.left)} to ${Math.round(box.right)} px`);
    const frame = frameOf(element);
    if (frame && (box.right > frame.right + tolerance || box.left < frame.left - tolerance)) found.push(`${name} sticks out of its frame by ${Math.round(box.right - frame.right)} px`);
    if (element.closest('.mantine-Badge-root') && element.scrollWidth > element.clientWidth + 1) found.push(`${name} is cut off by its badge`);
    return true;
  });
  for (const [index, one] of seen.entries()) {
    for (const other of seen.slice(index + 1)) {
      if (one.element.contains(other.element) || other.element.contains(one.element) || fixed(one.element) !== fixed(other.element)) continue;
      // A field's own button lies within the field.
      const field = one.element.closest('.mantine-Input-wrapper');
      if (field && field === other.element.closest('.mantine-Input-wrapper')) continue;
      const width = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      const height = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
      if (width > tolerance && height > tolerance + 2) found.push(`${one.name} and ${other.name} overlap by ${Math.round(width)} × ${Math.round(height)} px`);
    }
  }
  return [...new Set(found)];
}
