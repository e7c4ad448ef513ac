/** A QR code's modules. true means dark. */
interface QRModules {
  readonly size: number;
  get(x: number, y: number): boolean;
}

/** Returns an SVG path for the dark modules, with the four-module margin that readers need. */
export function qrPath(code: QRModules): { path: string; size: number } {
  const margin = 4;
  let path = '';
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) {
      if (!code.get(x, y)) continue;
      const from = x;
      while (code.get(x + 1, y)) x++;
      path += `M${from + margin} ${y + margin}h${x - from + 1}v1h-${x - from + 1}z`;
    }
  }
  return { path, size: code.size + 2 * margin };
}
