// Lines of any length out of a stream of bytes, with a bound on what is kept of one.

/// Takes a stream of bytes apart into lines. Keeps one line in memory, and at most so much of it.
package struct LineReader {
  /// A line without what ends it.
  package enum Line: Hashable, Sendable {
    /// All of it.
    case whole([UInt8])
    /// The beginning of one that is longer than permitted.
    case tooLong([UInt8])
  }

  private let limit: Int
  private let read: (Int) throws -> [UInt8]
  private var buffer: [UInt8] = []
  /// Where in the buffer the next line begins, and up to where it was looked for its end.
  private var start = 0
  private var searched = 0
  private var isAtEnd = false
  /// How many lines there were.
  package private(set) var count = 0
  /// How many bytes they had.
  package private(set) var byteCount = 0

  /// What is kept of a line that is too long.
  private static let shownByteCount = 1000
  private static let chunkByteCount = 1 << 18

  /// Lines of up to so many bytes; `read` returns some of the bytes that follow, at most so many, and none at the end.
  package init(limit: Int, read: @escaping (Int) throws -> [UInt8]) {
    self.limit = limit
    self.read = read
  }

  /// The next line; nil behind the last one. The last one need not be ended.
  ///
  /// - Throws: what `read` throws.
  package mutating func next() throws -> Line? {
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) { return line(upTo: end, behind: end + 1) }
      searched = buffer.count
      if buffer.count - start > limit { return try tooLong() }
      if isAtEnd { return start == buffer.count ? nil : line(upTo: buffer.count, behind: buffer.count) }
      try fill()
    }
  }

  private mutating func line(upTo end: Int, behind next: Int) -> Line {
    let bytes = Array(buffer[start..<end])
    byteCount += next - start
    (start, searched) = (next, next)
    count += 1
    return bytes.count > limit ? .tooLong(Array(bytes.prefix(Self.shownByteCount))) : .whole(bytes)
  }

  /// Passes over the rest of a line.
  private mutating func tooLong() throws -> Line {
    let beginning = Array(buffer[start...].prefix(Self.shownByteCount))
    while true {
      if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
        _ = line(upTo: end, behind: end + 1)
        return .tooLong(beginning)
      }
      byteCount += buffer.count - start
      (start, searched) = (buffer.count, buffer.count)
      if isAtEnd {
        count += 1
        return .tooLong(beginning)
      }
      try fill()
    }
  }

  private mutating func fill() throws {
    buffer.removeFirst(start)
    searched -= start
    start = 0
    let chunk = try read(Self.chunkByteCount)
    assert(chunk.count <= Self.chunkByteCount, "more bytes came than were asked for")
    if chunk.isEmpty { isAtEnd = true }
    buffer += chunk
  }
}
