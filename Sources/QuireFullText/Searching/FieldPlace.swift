// Where terms stand in a row, and phrases made of that.

/// A place in a row: the number of the field above 40 bits, and the position in the field below them. Places of
/// different fields are farther apart than any phrase and any distance reaches.
typealias FieldPlace = Int64

enum FieldPlaces {
  /// So many bits are for the position.
  static let positionBitCount: Int64 = 40
  /// Distances beyond this are the same as this: no two positions of a field are as far apart.
  static let distanceLimit = 1 << 33

  static func place(field: Int, position: UInt32) -> FieldPlace {
    Int64(field) << positionBitCount | Int64(position)
  }

  static func field(of place: FieldPlace) -> Int { Int(place >> positionBitCount) }
  static func position(of place: FieldPlace) -> Int64 { place & (1 << positionBitCount - 1) }

  /// Keeps those places of the first element of a phrase at which another element follows `offset` tokens behind. Both
  /// lists ascend.
  static func keep(_ places: inout [FieldPlace], followedBy others: [FieldPlace], at offset: UInt32) {
    var (kept, other) = (0, 0)
    for index in places.indices {
      let wanted = places[index] + Int64(offset)
      while other < others.count, others[other] < wanted { other += 1 }
      if other == others.count { break }
      if others[other] == wanted {
        places[kept] = places[index]
        kept += 1
      }
    }
    places.removeSubrange(kept...)
  }

  /// Keeps the places at which fields begin.
  static func keepStarts(_ places: inout [FieldPlace]) { places.removeAll { position(of: $0) != 0 } }

  /// Puts `others` among `places`, each place once. Both ascend.
  static func merge(_ others: [FieldPlace], into places: inout [FieldPlace]) {
    if places.isEmpty {
      places = others
      return
    }
    let first = places
    places.removeAll(keepingCapacity: true)
    var (left, right) = (0, 0)
    while left < first.count || right < others.count {
      if right == others.count || left < first.count && first[left] < others[right] {
        places.append(first[left])
        left += 1
      } else {
        if left < first.count, first[left] == others[right] { left += 1 }
        places.append(others[right])
        right += 1
      }
    }
  }
}
