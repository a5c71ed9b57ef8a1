// An ordered set in memory whose copies share what they have in common.

/// Elements in ascending order, none of which equals another one, in chunks.
///
/// Elements that come in their order are appended, in O(1); elsewhere a chunk is searched for and moved, in O(log n)
/// and a copy of `chunkCapacity` elements at the most. A copy of the whole is a retain; the first change after that
/// copies the list of chunks and the chunk that it concerns.
///
/// Invariants:
/// 1. No chunk is empty, and none has more than `chunkCapacity` elements.
/// 2. Each element is below the next one, also across chunks.
/// 3. `count` is the number of elements in all chunks.
struct OrderedChunks<Element: Comparable> {
  private var chunks: [[Element]] = []
  private(set) var count = 0

  /// Where an element is, or where it would be: behind the last one of a chunk only if that is the last chunk.
  private typealias Place = (chunk: Int, index: Int)

  static var chunkCapacity: Int { 256 }

  /// The place of the first element that is not below what is looked for.
  private func place(_ isBelow: (Element) -> Bool) -> Place {
    var (low, high) = (0, chunks.count)
    while low < high {
      let middle = (low + high) / 2
      if isBelow(chunks[middle][chunks[middle].count - 1]) { low = middle + 1 } else { high = middle }
    }
    guard low < chunks.count else { return (low, 0) }
    let chunk = low
    (low, high) = (0, chunks[chunk].count)
    while low < high {
      let middle = (low + high) / 2
      if isBelow(chunks[chunk][middle]) { low = middle + 1 } else { high = middle }
    }
    return (chunk, low)
  }

  /// The element that equals another one; nil if there is none.
  func find(_ element: Element) -> Element? {
    let place = place { $0 < element }
    guard place.chunk < chunks.count, chunks[place.chunk][place.index] == element else { return nil }
    return chunks[place.chunk][place.index]
  }

  /// Puts an element in the place of the one that equals it, or in between.
  mutating func put(_ element: Element) {
    let last = chunks.count - 1
    if last >= 0, !(chunks[last][chunks[last].count - 1] < element) { return putInside(element) }
    count += 1
    if last >= 0, chunks[last].count < Self.chunkCapacity {
      chunks[last].append(element)
    } else {
      chunks.append([element])
    }
  }

  private mutating func putInside(_ element: Element) {
    let place = place { $0 < element }
    if chunks[place.chunk][place.index] == element { return chunks[place.chunk][place.index] = element }
    count += 1
    chunks[place.chunk].insert(element, at: place.index)
    guard chunks[place.chunk].count > Self.chunkCapacity else { return }
    let half = Self.chunkCapacity / 2
    let rest = Array(chunks[place.chunk][half...])
    chunks[place.chunk].removeSubrange(half...)
    chunks.insert(rest, at: place.chunk + 1)
  }

  /// Removes the element that equals another one, if there is one.
  mutating func remove(_ element: Element) {
    let place = place { $0 < element }
    guard place.chunk < chunks.count, chunks[place.chunk][place.index] == element else { return }
    count -= 1
    if chunks[place.chunk].count == 1 {
      chunks.remove(at: place.chunk)
    } else {
      chunks[place.chunk].remove(at: place.index)
    }
  }

  /// Hands over the elements from the first one on that is not below what is looked for, until `body` returns false.
  func forEach(from isBelow: (Element) -> Bool, _ body: (Element) throws -> Bool) rethrows {
    var (chunk, index) = place(isBelow)
    while chunk < chunks.count {
      while index < chunks[chunk].count {
        guard try body(chunks[chunk][index]) else { return }
        index += 1
      }
      (chunk, index) = (chunk + 1, 0)
    }
  }

  /// The first invariant that is broken, in words; nil if none is. O(n).
  func brokenInvariant() -> String? {
    if chunks.contains(where: { $0.isEmpty || $0.count > Self.chunkCapacity }) {
      return "Invariant 1: a chunk is empty or too full."
    }
    let all = chunks.joined()
    if zip(all, all.dropFirst()).contains(where: { !($0 < $1) }) { return "Invariant 2: elements do not ascend." }
    return chunks.reduce(0, { $0 + $1.count }) == count ? nil : "Invariant 3: the count is wrong."
  }
}
