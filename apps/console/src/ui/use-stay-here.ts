import { useEffect } from 'react';

/** Makes the browser ask before the page is closed. @returns a function that ends it */
export function askBeforeClosing(): () => void {
  const ask = (event: BeforeUnloadEvent): void => event.preventDefault();
  window.addEventListener('beforeunload', ask);
  return () => window.removeEventListener('beforeunload', ask);
}

/** As `askBeforeClosing`, while it is needed and the component is shown. */
export function useStayHere(isNeeded: boolean): void {
  useEffect(() => (isNeeded ? askBeforeClosing() : undefined), [isNeeded]);
}
