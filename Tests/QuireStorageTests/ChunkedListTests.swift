// The list behind everything that may be as long as a transaction, against an array.

import QuireStorage
import QuireTesting
import Testing

@Suite struct ChunkedListTests {
  /// As long as what a commit gives up: a stride that divides no chunk.
  private struct Wide: BitwiseCopyable, Equatable {
    var a: UInt64
    var b: UInt64
    var c: UInt32
    init(_ value: UInt64) { (a, b, c) = (value, ~value, UInt32(truncatingIfNeeded: value)) }
  }

  private func takeFirst<Element: BitwiseCopyable>(_ count: Int, of list: ChunkedList<Element>) -> [Element] {
    var taken: [Element] = []
    list.removeFirst(while: { _ in taken.count < count }, { taken.append($0) })
    return taken
  }

  @Test("It does what an array does, whatever is added and removed", arguments: 1...8 as ClosedRange<UInt64>)
  func model(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let list = ChunkedList<Wide>()
    var array: [Wide] = []
    var next: UInt64 = 0
    for _ in 0..<400 {
      switch random.below(10) {
      case 0...3:
        for _ in 0..<random.below(random.oneIn(4) ? 6000 : 40) {
          list.append(Wide(next))
          array.append(Wide(next))
          next += 1
        }
      case 4:
        let count = min(array.count, random.below(3000))
        #expect(takeFirst(count, of: list) == Array(array[..<count]))
        array.removeFirst(count)
        // By a limit, which may be more than there are, and with a condition that may end it before.
        let (limit, last) = (random.below(3000), next - UInt64(array.count / 2))
        var taken: [Wide] = []
        let expected = array.prefix(limit).prefix { $0.a < last }
        let takenCount = list.removeFirst(limit, while: { $0.a < last }, { taken.append($0) })
        #expect(takenCount == expected.count && taken == Array(expected))
        array.removeFirst(takenCount)
      case 5:
        let count = random.below(array.count + 1)
        list.truncate(to: count)
        array.removeLast(array.count - count)
      case 6:
        for _ in 0..<random.below(50) { #expect(list.popLast() == array.popLast()) }
      case 7:
        let part = UInt64(2 + random.below(5))
        list.removeAll { $0.a % part == 0 }
        array.removeAll { $0.a % part == 0 }
      case 8 where !array.isEmpty:
        let index = random.below(array.count)
        list[index] = Wide(next)
        array[index] = Wide(next)
        next += 1
      case 9 where random.oneIn(5):
        list.removeAll(keepingFirstChunk: random.oneIn(2))
        array = []
      default: break
      }
      #expect(list.count == array.count && list.isEmpty == array.isEmpty)
      #expect(list.isEmpty || list[0] == array[0])
    }
    #expect(Array(list) == array)
    let middle = array.count / 2
    #expect(Array(list.from(middle)) == Array(array[middle...]))
  }

  @Test("It takes what it holds and a chunk or two, and nothing once it is empty")
  func memory() {
    let list = ChunkedList<UInt64>()
    #expect(list.byteCount == 0)
    for value in 0..<200_000 as Range<UInt64> { list.append(value) }
    #expect(list.byteCount < 8 * 200_000 + 2 * 65_536)
    #expect(takeFirst(150_000, of: list) == Array(0..<150_000))
    #expect(list.byteCount < 8 * 50_000 + 3 * 65_536)
    list.truncate(to: 10)
    #expect(Array(list) == Array(150_000..<150_010))
    #expect(list.byteCount <= 2 * 65_536)
    list.removeAll()
    #expect(list.byteCount == 0)
    // A list of a few is a block of the heap.
    for value in 0..<20 as Range<UInt64> { list.append(value) }
    #expect(list.byteCount == 8 * 32)
  }
}
