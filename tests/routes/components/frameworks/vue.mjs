export * from "vue/dist/vue.esm-browser.prod.js";
