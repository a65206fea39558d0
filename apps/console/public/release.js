// During a release a replica of the old one may be asked for a file of the new one, and answers 404. Before the console has started,
// nothing else could say so. This file has the same name in each release, so every replica has it.
(() => {
  const attemptsKey = 'console-attempts';
  const maxAttempts = 20;

  window.addEventListener(
    'error',
    ({ target }) => {
      const root = document.getElementById('root');
      const isOwnFile = target instanceof window.HTMLScriptElement || target instanceof window.HTMLLinkElement;
      if (!isOwnFile || !root || root.hasChildNodes()) return;
      const attempts = Number(sessionStorage.getItem(attemptsKey)) + 1;
      sessionStorage.setItem(attemptsKey, String(attempts));
      const isLast = attempts >= maxAttempts;
      const main = document.createElement('main');
      main.append(document.createElement('h1'), document.createElement('p'));
      main.firstChild.textContent = 'Plant shop';
      main.lastChild.textContent = isLast
        ? 'A file of the console is missing. Reload the page. If that does not help, tell an administrator.'
        : 'The console is getting a new version. This page reloads in a moment.';
      root.append(main);
      if (isLast) sessionStorage.removeItem(attemptsKey);
      else setTimeout(() => location.reload(), 1_000);
    },
    true,
  );
  window.addEventListener('console-started', () => sessionStorage.removeItem(attemptsKey), { once: true });
})();
