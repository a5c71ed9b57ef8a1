// What the tour prints: few colours, and those only where somebody sees them.

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// Standard output, as a terminal or as a pipe.
struct Screen {
  /// Whether what is written goes to a terminal, which can go back to the beginning of a line.
  let isTerminal: Bool
  /// Whether there are colours: on a terminal, unless the user does not want any (https://no-color.org).
  let hasColors: Bool

  init() {
    isTerminal = isatty(1) != 0
    let wish = unsafe getenv("NO_COLOR").map { unsafe $0.pointee != 0 } ?? false
    let isDumb = unsafe getenv("TERM").map { unsafe String(cString: $0) == "dumb" } ?? false
    hasColors = isTerminal && !wish && !isDumb
  }

  /// A way to write.
  enum Style: String {
    case plain = "0"
    case bold = "1"
    case dim = "2"
    case good = "32"
    case code = "36"
  }

  /// `text` in a style, if there are colours.
  func styled(_ text: String, _ style: Style) -> String {
    hasColors && style != .plain ? "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m" : text
  }

  // MARK: Parts of the page

  /// The head of the page.
  func title(_ title: String, _ subtitle: String) {
    line("\n\(styled(title, .bold)) – \(subtitle)")
  }

  /// The head of a chapter, and its code.
  func chapter(_ number: Int, of count: Int, _ title: String, code: String) {
    line("\n\(styled("\(number)/\(count)  \(title)", .bold))")
    line("")
    for codeLine in code.split(separator: "\n", omittingEmptySubsequences: false) {
      line(codeLine.isEmpty ? "" : "     " + styled(String(codeLine), .code))
    }
    line("")
  }

  /// Something that was done, and what is to be known about it.
  func done(_ what: String, _ details: String...) {
    let rest = details.filter { !$0.isEmpty }.joined(separator: ", ")
    line("  \(styled("✓", .good)) \(rest.isEmpty ? what : padded(what, 48) + " " + styled(rest, .dim))")
  }

  /// Something that was found.
  func note(_ text: String) { line("    " + text) }

  /// The foot of the page.
  func end(_ texts: String...) {
    line("")
    for text in texts { line(text) }
    line("")
  }

  /// How far something is; on a terminal only, where the next line takes its place.
  func progress(_ done: Int, of total: Int, _ label: String) {
    guard isTerminal else { return }
    let width = 40
    let filled = total > 0 ? min(width, done * width / total) : width
    let bar = styled(String(repeating: "█", count: filled), .good) + String(repeating: "░", count: width - filled)
    Self.write("\r    \(bar) \(label)\u{1b}[K", to: 1)
  }

  /// Takes the progress away.
  func endProgress() {
    if isTerminal { Self.write("\r\u{1b}[K", to: 1) }
  }

  private func line(_ text: String) { Self.write(text + "\n", to: 1) }

  /// Writes a line to standard error.
  static func complain(_ text: String) { write("quickstart: \(text)\n", to: 2) }

  /// Not through stdio: its streams are shared mutable variables of the C library.
  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { bytes in
        unsafe systemWrite(descriptor, bytes)
      }
      // Nobody listens any more.
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}

/// The system's call, of which the type has a member of the same name: how many of the bytes were written.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
  guard let base = bytes.baseAddress else { return 0 }
  return unsafe write(descriptor, base, bytes.count)
}
