import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const shop = process.env['SHOP_URL'] ?? 'http://localhost:8080';

/** That the React Compiler optimises, so that what has not changed is not drawn again: all but Today, since the first load has to stay small. */
const compiledPages = readdirSync(new URL('src/pages', import.meta.url)).filter((page) => page !== 'today');

export default defineConfig({
  base: '/console/',
  plugins: [react({ compiler: { sources: compiledPages.map((page) => `/src/pages/${page}/`) } }), precompress()],
  build: {
    outDir: 'dist/site',
    target: 'es2023',
    emptyOutDir: true,
    // The Content-Security-Policy allows no scripts and styles from data URLs.
    assetsInlineLimit: 0,
    // The polyfill is an inline script, which the Content-Security-Policy refuses.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 650,
    reportCompressedSize: false,
    // One file for all that the first page needs before its own: split by who else imports it, it would be larger.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } } },
  },
  // Forwards everything else to the running shop.
  server: { host: '127.0.0.1', port: 5173, strictPort: true, proxy: { '^/(v3|oauth|readyz|\\.well-known|console/settings\\.json)': { target: shop, changeOrigin: false } } },
});

/**
 * Compresses the files at build time; the gateway sends the encoding that the browser accepts.
 * @returns {import('vite').Plugin}
 */
function precompress() {
  return {
    name: 'precompress',
    apply: 'build',
    writeBundle({ dir = '' }) {
      const entries = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      for (const path of entries.map((entry) => join(entry.parentPath, entry.name))) {
        const content = readFileSync(path);
        if (!['.js', '.css', '.html', '.svg'].includes(extname(path)) || content.length < 1_024) continue;
        writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } }));
        writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}
