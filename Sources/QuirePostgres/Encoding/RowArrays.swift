// Many rows as what one statement takes.

#if Postgres
  /// Rows by columns, and as a stream.
  enum RowArrays {
    /// The parameters of `Statement.upsert` behind the first.
    static func arrays(_ rows: ArraySlice<SinkRow>, hasBytes: Bool, columnCount: Int) -> [Parameter] {
      var (keys, ids) = (ArrayParameter(.text), ArrayParameter(.bigint))
      var (objects, metadata) = (ArrayParameter(.text), ArrayParameter(.text))
      var (raw, rawMetadata) = (ArrayParameter(.bytea), ArrayParameter(.bytea))
      var columns = Array(repeating: ArrayParameter(.text), count: columnCount)
      for row in rows {
        keys.append(row.key)
        ids.append(row.rowID)
        objects.append(row.object)
        metadata.append(row.metadata)
        if hasBytes {
          raw.append(row.raw)
          rawMetadata.append(row.rawMetadata)
        }
        for index in 0..<columnCount { columns[index].append(index < row.columns.count ? row.columns[index] : nil) }
      }
      return ([keys, ids, objects, metadata] + (hasBytes ? [raw, rawMetadata] : []) + columns).map { .array($0) }
    }

    /// The stream of `Statement.copy`.
    static func stream(_ rows: ArraySlice<SinkRow>, _ csn: UInt64, hasBytes: Bool) -> [UInt8] {
      var stream = CopyStream()
      for row in rows {
        stream.beginRow(fieldCount: hasBytes ? 7 : 5)
        stream.append(Int64(bitPattern: csn))
        stream.append(row.key)
        stream.append(row.rowID)
        stream.append(json: row.object)
        stream.append(json: row.metadata)
        if hasBytes {
          stream.append(row.raw)
          stream.append(row.rawMetadata)
        }
      }
      stream.end()
      return stream.bytes
    }
  }
#endif
