import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.js';
import { finishLogin } from './login.js';

const root = document.getElementById('root');
if (!root) throw new Error('index.html has no #root');
// Outside React, which may run effects twice: the code of a log-in works once.
const login = await finishLogin().then((shop) => ({ shop, error: undefined }), (error: unknown) => ({ shop: undefined, error }));
createRoot(root).render(
  <StrictMode>
    <App shop={login.shop} loginError={login.error} />
  </StrictMode>,
);
