// Debian ships Vega as parts that name each other as AMD modules: this joins those that follow, without any global but
// `vega`. `part(name, maker)` is called for each; `joined()` last.
const modules = (function () {
  "use strict";
  const makers = {}, made = {}, alias = { "vega-selections": "vega-selection" };
  function need(wanted) {
    const name = alias[wanted] || wanted;
    if (made[name]) return made[name];
    if (!makers[name]) throw Error("the plotting library's part " + name + " is missing");
    const exports = made[name] = {};
    const define = (wants, make) => { make.apply(null, wants.map(w => w === "exports" ? exports : need(w))); };
    define.amd = true;
    makers[name].call(window, define);
    return exports;
  }
  return {
    part: (name, maker) => { makers[name] = maker; },
    joined: () => {
      const { transforms } = need("vega-dataflow");
      for (const name of ["vega-transforms", "vega-view-transforms", "vega-encode", "vega-label"])
        Object.assign(transforms, need(name));
      return { View: need("vega-view").View, parse: need("vega-parser").parse,
        interpreter: need("vega-interpreter").expressionInterpreter };
    }
  };
})();
