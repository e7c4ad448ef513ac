// node_modules/@preact/signals/dist/signals.module.js
import { createElement as i, Fragment as n, Component as r, options as t, isValidElement as f } from "preact";
import { useMemo as o, useRef as e, useEffect as u } from "preact/hooks";
import { effect as a, Signal as c, computed as v, signal as s, batch as l } from "@preact/signals-core";
import { Signal, action, batch, computed, createModel, effect, signal, untracked } from "@preact/signals-core";
var h;
var d;
var p;
var m = "undefined" != typeof window && !!window.__PREACT_SIGNALS_DEVTOOLS__;
var _ = [];
var g = [];
a(function() {
  h = this.N;
})();
function b(i2, n2) {
  t[i2] = n2.bind(null, t[i2] || function() {
  });
}
function y(i2) {
  if (p) {
    var n2 = p;
    p = void 0;
    n2();
  }
  p = i2 && i2.S();
}
function w(i2) {
  var n2 = this, r2 = i2.data, t2 = useSignal(r2);
  t2.name = "ReactiveDom";
  t2.value = r2;
  var e2 = o(function() {
    var i3 = n2, r3 = n2.__v;
    while (r3 = r3.__) if (r3.__c) {
      r3.__c.__$f |= 4;
      break;
    }
    var o2 = v(function() {
      var i4 = t2.value.value;
      return 0 === i4 ? 0 : true === i4 ? "" : i4 || "";
    }), e3 = v(function() {
      return !Array.isArray(o2.value) && !f(o2.value);
    }), u3 = a(function() {
      this.N = M;
      if (e3.value) {
        var n3 = o2.value;
        if (i3.__v && i3.__v.__e && 3 === i3.__v.__e.nodeType) i3.__v.__e.data = n3;
      }
    }), c3 = n2.__$u.d;
    n2.__$u.d = function() {
      u3();
      c3.call(this);
    };
    return [e3, o2];
  }, []), u2 = e2[0], c2 = e2[1];
  return u2.value ? c2.peek() : c2.value;
}
w.displayName = "ReactiveTextNode";
Object.defineProperties(c.prototype, { constructor: { configurable: true, value: i(n, null).constructor }, type: { configurable: true, value: w }, props: { configurable: true, get: function() {
  var i2 = this;
  return { data: { get value() {
    return i2.value;
  } } };
} }, __b: { configurable: true, value: 1 } });
b("__b", function(i2, n2) {
  y();
  d = void 0;
  if ("string" == typeof n2.type) {
    var r2, t2 = n2.props;
    for (var f2 in t2) if ("children" !== f2) {
      var o2 = t2[f2];
      if (o2 instanceof c) {
        if (!r2) n2.__np = r2 = {};
        r2[f2] = o2;
        t2[f2] = o2.peek();
      }
    }
  }
  i2(n2);
});
b("__r", function(i2, r2) {
  i2(r2);
  if (r2.type !== n) {
    y();
    var t2, f2 = r2.__c;
    if (f2) {
      f2.__$f &= -2;
      if (void 0 === (t2 = f2.__$u)) f2.__$u = t2 = (function(i3, n2) {
        var r3;
        a(function() {
          r3 = this;
        }, { name: n2 });
        r3.c = i3;
        return r3;
      })(/* @__PURE__ */ (function(i3) {
        return function() {
          var n2;
          if (m) null == (n2 = this.y) || n2.call(this);
          i3.__$f |= 1;
          i3.setState({});
        };
      })(f2), "function" == typeof r2.type ? r2.type.displayName || r2.type.name : "");
    }
    d = f2;
    y(t2);
  }
});
b("__e", function(i2, n2, r2, t2) {
  y();
  d = void 0;
  i2(n2, r2, t2);
});
b("diffed", function(i2, n2) {
  y();
  d = void 0;
  var r2;
  if ("string" == typeof n2.type && (r2 = n2.__e)) {
    var t2 = n2.__np, f2 = n2.props, o2 = r2.U;
    if (o2) for (var e2 in o2) {
      var u2 = o2[e2];
      if (!(void 0 === u2 || t2 && e2 in t2)) {
        u2.d();
        o2[e2] = void 0;
      }
    }
    if (t2) {
      if (!o2) {
        o2 = {};
        r2.U = o2;
      }
      for (var a2 in t2) {
        var c2 = o2[a2], v2 = t2[a2];
        if (void 0 === c2) {
          c2 = k(r2, a2, v2, f2);
          o2[a2] = c2;
        } else c2.o(v2, f2);
      }
    }
  }
  i2(n2);
});
function k(i2, n2, r2, t2) {
  var f2 = n2 in i2 && void 0 === i2.ownerSVGElement, o2 = s(r2);
  return { o: function(i3, n3) {
    o2.value = i3;
    t2 = n3;
  }, d: a(function() {
    this.N = M;
    var r3 = o2.value.value;
    if (t2[n2] !== r3) {
      t2[n2] = r3;
      if (f2) i2[n2] = r3;
      else if (null != r3 && (false !== r3 || "-" === n2[4])) i2.setAttribute(n2, r3);
      else i2.removeAttribute(n2);
    }
  }) };
}
b("unmount", function(i2, n2) {
  if ("string" == typeof n2.type) {
    var r2 = n2.__e;
    if (r2) {
      var t2 = r2.U;
      if (t2) {
        r2.U = void 0;
        for (var f2 in t2) {
          var o2 = t2[f2];
          if (o2) o2.d();
        }
      }
    }
    var e2 = n2.__np;
    if (e2) {
      var u2 = n2.props;
      for (var a2 in e2) u2[a2] = e2[a2];
    }
    n2.__np = void 0;
  } else {
    var c2 = n2.__c;
    if (c2) {
      c2.__$f |= 8;
      var v2 = c2.__$u;
      if (v2) {
        c2.__$u = void 0;
        v2.d();
      }
    }
  }
  i2(n2);
});
b("__h", function(i2, n2, r2, t2) {
  if (t2 < 3) n2.__$f |= 2;
  i2(n2, r2, t2);
});
r.prototype.shouldComponentUpdate = function(i2, n2) {
  if (this.__R) return true;
  var r2 = this.__$u, t2 = r2 && void 0 !== r2.s;
  for (var f2 in n2) return true;
  if (this.__f || "boolean" == typeof this.u && true === this.u) {
    var o2 = 2 & this.__$f;
    if (!(t2 || o2 || 4 & this.__$f)) return true;
    if (1 & this.__$f) return true;
  } else {
    if (!(t2 || 4 & this.__$f)) return true;
    if (3 & this.__$f) return true;
  }
  for (var e2 in i2) if ("__source" !== e2 && i2[e2] !== this.props[e2]) return true;
  for (var u2 in this.props) if (!(u2 in i2)) return true;
  return false;
};
function useSignal(i2, n2) {
  return o(function() {
    return s(i2, n2);
  }, []);
}
function useComputed(i2, n2) {
  var r2 = e(i2);
  r2.current = i2;
  d.__$f |= 4;
  return o(function() {
    return v(function() {
      return r2.current();
    }, n2);
  }, []);
}
var q = "undefined" == typeof requestAnimationFrame ? setTimeout : function(i2) {
  var n2 = function() {
    clearTimeout(r2);
    cancelAnimationFrame(t2);
    i2();
  }, r2 = setTimeout(n2, 35), t2 = requestAnimationFrame(n2);
};
var A = function(i2) {
  queueMicrotask(function() {
    queueMicrotask(i2);
  });
};
function T() {
  l(function() {
    var i2;
    while (i2 = _.shift()) h.call(i2);
  });
}
function x() {
  if (1 === _.push(this)) (t.requestAnimationFrame || q)(T);
}
function F() {
  l(function() {
    var i2;
    while (i2 = g.shift()) h.call(i2);
  });
}
function M() {
  if (1 === g.push(this)) (t.requestAnimationFrame || A)(F);
}
function useSignalEffect(i2, n2) {
  var r2 = e(i2);
  r2.current = i2;
  var t2 = d;
  u(function() {
    return a(function() {
      this.N = x;
      if (!(t2 && 8 & t2.__$f)) return r2.current();
    }, n2);
  }, []);
}
function R(i2) {
  var n2 = o(function() {
    return i2();
  }, []);
  u(function() {
    return n2[Symbol.dispose];
  }, [n2]);
  return n2;
}
export {
  Signal,
  action,
  batch,
  computed,
  createModel,
  effect,
  signal,
  untracked,
  useComputed,
  R as useModel,
  useSignal,
  useSignalEffect
};
