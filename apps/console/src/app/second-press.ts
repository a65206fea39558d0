/** Time between the Enters of somebody who presses it twice. */
const quickMs = 300;

/**
 * Keeps the second half of a double click, and the second of two quick Enters, from what only the first has brought there: it would close the dialog
 * that the first opened, or open the one again that it has closed. @returns a function that ends it
 */
export function ignoreSecondPress(): () => void {
  let movedAt = 0;
  let enteredAt = 0;
  const note = (): void => void (movedAt = performance.now());
  const click = (event: MouseEvent): void => {
    if (event.detail > 1 && event.target instanceof Element && event.target.matches('.mantine-Modal-overlay')) event.stopPropagation();
  };
  const press = (event: KeyboardEvent): void => {
    const now = performance.now();
    const isSecond = event.key === 'Enter' && now - enteredAt < quickMs && movedAt > enteredAt;
    // Who opens a menu by Enter may choose its first item by another.
    if (isSecond && event.target instanceof HTMLButtonElement && !event.target.matches('[role=menuitem]')) event.preventDefault();
    // A key in between moved the focus on purpose.
    enteredAt = event.key === 'Enter' ? now : 0;
  };
  document.addEventListener('focusin', note);
  document.addEventListener('click', click, true);
  document.addEventListener('keydown', press, true);
  return () => {
    document.removeEventListener('focusin', note);
    document.removeEventListener('click', click, true);
    document.removeEventListener('keydown', press, true);
  };
}
