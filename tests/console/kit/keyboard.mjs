import assert from 'node:assert/strict';

/** More than any page has. */
const most = 150;

/**
 * Moves the focus to an element by one key, as a person without a mouse does, and presses Enter there.
 * @param {import('playwright-core').Locator} target
 * @param {'Tab' | 'ArrowDown'} [key] menus have arrows
 */
export async function pressEnterOn(target, key = 'Tab') {
  await focusByKey(target, key);
  await target.page().keyboard.press('Enter');
}

/** @param {import('playwright-core').Locator} target @param {'Tab' | 'ArrowDown'} [key] */
export async function focusByKey(target, key = 'Tab') {
  await target.waitFor();
  for (let presses = 0; presses < most; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return;
    await target.page().keyboard.press(key);
  }
  assert.fail(`${target} is not reached by ${key}`);
}
