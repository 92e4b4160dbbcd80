//! Record batches across the border, by the Arrow `PyCapsule` interface: no copy either way.

#![allow(unsafe_code)] // the C data interface is raw pointers; every one comes from a capsule of the right name

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi};
use arrow_array::{Array, RecordBatch, StructArray};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

const ARRAY: &std::ffi::CStr = c"arrow_array";
const SCHEMA: &std::ffi::CStr = c"arrow_schema";

/// A record batch made by a kernel; `pyarrow.record_batch(batch)` takes it without a copy.
#[pyclass(frozen, module = "crivello._native", name = "Batch")]
pub struct PyBatch(pub RecordBatch);

#[pymethods]
impl PyBatch {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        drop(requested_schema); // the interface allows a producer to ignore it
        let data = StructArray::from(self.0.clone()).into_data();
        let (array, schema) = to_ffi(&data).map_err(|e| PyValueError::new_err(e.to_string()))?;
        let array = PyCapsule::new_with_value(py, array, ARRAY)?;
        let schema = PyCapsule::new_with_value(py, schema, SCHEMA)?;
        PyTuple::new(py, [schema, array])
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref())
            .map_err(|e| PyValueError::new_err(e.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("Batch({} rows, {} columns)", self.0.num_rows(), self.0.num_columns())
    }
}

/// Takes a record batch from any object that speaks the `PyCapsule` interface.
pub fn import(object: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    if let Ok(batch) = object.cast::<PyBatch>() {
        return Ok(batch.get().0.clone());
    }
    if !object.hasattr("__arrow_c_array__")? {
        return Err(PyTypeError::new_err("expected an Arrow record batch"));
    }
    let pair = object.call_method0("__arrow_c_array__")?;
    let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) = pair.extract()?;
    let schema_ptr = schema.pointer_checked(Some(SCHEMA))?.cast::<FFI_ArrowSchema>();
    let array_ptr = array.pointer_checked(Some(ARRAY))?.cast::<FFI_ArrowArray>();
    // SAFETY: the capsules' names say what they hold; moving the array out leaves a released
    // one behind, as the interface asks, and the schema is only borrowed during the call.
    let data = unsafe {
        let array = FFI_ArrowArray::from_raw(array_ptr.as_ptr());
        from_ffi(array, schema_ptr.as_ref())
    }
    .map_err(|e| PyValueError::new_err(e.to_string()))?;
    if !matches!(data.data_type(), arrow_schema::DataType::Struct(_)) {
        return Err(PyTypeError::new_err("expected a record batch, got a plain array"));
    }
    Ok(RecordBatch::from(StructArray::from(data)))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyBatch>()
}
