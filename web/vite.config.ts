import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

/** The server that `npm run dev` asks. */
const server = process.env.PITSTOP_SERVER ?? "http://127.0.0.1:8701";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/pitstop/page",
    emptyOutDir: true,
    // The server says what may be loaded: nothing is put into the page as text.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2000,
    license: { fileName: "licenses.md" },
  },
  server: { proxy: Object.fromEntries(["/api", "/sign-in", "/sign-out", "/healthz", "/readyz"].map((path) => [path, { target: server, changeOrigin: false }])) },
  test: { include: ["src/**/*.test.ts"] },
});
