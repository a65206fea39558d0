import assert from 'node:assert/strict';

/** More than any page has focusable elements. */
const maxPresses = 150;

/**
 * Moves the focus to an element by keyboard and presses Enter.
 * @param {import('playwright-core').Locator} target
 * @param {'Tab' | 'ArrowDown'} [key] menus need arrows
 */
export async function pressEnterOn(target, key = 'Tab') {
  await focusByKey(target, key);
  await target.page().keyboard.press('Enter');
}

/** @param {import('playwright-core').Locator} target @param {'Tab' | 'ArrowDown'} [key] */
export async function focusByKey(target, key = 'Tab') {
  await target.waitFor();
  for (let presses = 0; presses < maxPresses; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await target.page().keyboard.press(key);
  }
  assert.fail(`${target} cannot be reached by ${key}`);
}

/** Waits until a page of the shop's own shows in its window why it refused a form, and has the focus there. @param {import('playwright-core').Page} page @param {string} [focused] id of the field that has it instead */
export const untilRefusalIsSeen = (page, focused = 'error') =>
  page.waitForFunction((id) => {
    const box = document.getElementById('error')?.getBoundingClientRect();
    return box !== undefined && document.activeElement?.id === id && [box, document.activeElement.getBoundingClientRect()].every(({ top, bottom }) => top >= 0 && bottom <= window.innerHeight);
  }, focused);
