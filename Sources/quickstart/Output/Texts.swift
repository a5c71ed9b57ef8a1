// Numbers as people read them.

/// `text`, filled with spaces to `width`.
func padded(_ text: String, _ width: Int) -> String {
  text + String(repeating: " ", count: max(0, width - text.count))
}

/// A number with its thousands apart: 63,666.
func text(_ number: Int) -> String {
  var digits = String(number.magnitude)
  var groups: [Substring] = []
  while digits.count > 3 {
    groups.insert(digits.suffix(3), at: 0)
    digits.removeLast(3)
  }
  groups.insert(digits[...], at: 0)
  return (number < 0 ? "-" : "") + groups.joined(separator: ",")
}

/// A number of bytes: 950 bytes, 1.6 MB.
func text(byteCount: Int) -> String {
  let units = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")]
  for (size, unit) in units where byteCount >= size {
    return decimal(Double(byteCount) / Double(size)) + " " + unit
  }
  return "\(byteCount) bytes"
}

/// A length of time: 3.4 µs, 41 ms, 1.2 s.
func text(_ duration: Duration) -> String {
  let seconds = seconds(duration)
  if seconds >= 1 { return decimal(seconds) + " s" }
  if seconds >= 0.001 { return decimal(seconds * 1e3) + " ms" }
  return decimal(seconds * 1e6) + " µs"
}

/// So many things in a length of time: 48,900 rows/s, in three digits.
func rate(_ count: Int, _ unit: String, in duration: Duration) -> String {
  let perSecond = Double(count) / max(seconds(duration), 1e-9)
  var step = 1.0
  while perSecond / step >= 1000 { step *= 10 }
  return text(Int((perSecond / step).rounded() * step)) + " \(unit)/s"
}

private func seconds(_ duration: Duration) -> Double {
  Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
}

/// With one digit behind the point below 10, and none above.
private func decimal(_ value: Double) -> String {
  if value >= 9.95 { return String(Int(value.rounded())) }
  let tenths = Int((value * 10).rounded())
  return "\(tenths / 10).\(tenths % 10)"
}
